// FunctionRef: a callable, borrowed for the length of a call. Unlike std::function it never allocates.

#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace lapse {

template <typename Signature>
class FunctionRef;

template <typename R, typename... Arguments>
class FunctionRef<R(Arguments...)> {
 public:
  // NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload): lambdas are passed as they are
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>) FunctionRef(Callable&& callable)
      // NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> R {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Arguments>(arguments)...);
        }) {}

  R operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  R (*call_)(void*, Arguments...);
};

}  // namespace lapse
