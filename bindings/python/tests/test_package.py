"""The package as a whole: its examples, its types."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re

import lapse
import pytest

MODULES = sorted(["lapse", *("lapse." + module.name for module in pkgutil.iter_modules(lapse.__path__))])


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), extraglobs={"lapse": lapse})
    assert result.failed == 0


def test_there_are_examples_at_all():
    finder = doctest.DocTestFinder()
    examples = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert examples >= 60


def test_all_is_all():
    public = {name for name in vars(lapse) if not name.startswith("_") and not inspect.ismodule(vars(lapse)[name])}
    assert public - {"annotations"} == set(lapse.__all__)


def test_the_stub_knows_every_name_of_the_extension():
    stub = pathlib.Path(lapse.__file__).with_name("_lapse.pyi").read_text(encoding="utf-8")
    assert pathlib.Path(lapse.__file__).with_name("py.typed").exists()
    declared = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ClassDef):
            declared[node.name] = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        elif isinstance(node, ast.AnnAssign):
            declared[node.target.id] = set()
        elif isinstance(node, ast.FunctionDef):
            declared[node.name] = set()
    for name, thing in vars(lapse._lapse).items():
        if name.startswith("__"):
            continue
        assert name in declared
        if inspect.isclass(thing):
            own = {member for member in vars(thing) if not member.startswith("__") and member != "_pybind11_conduit_v1_"}
            assert own - declared[name] == set(), name
            assert {each for each in declared[name] if not each.startswith("__")} - own == set(), name


def parameters_of(function):
    """(name, how it is passed, whether it may be left out) of each; the extension's own names for those without, None."""
    given = function.args
    places = [*given.posonlyargs, *given.args]
    optional = [False] * (len(places) - len(given.defaults)) + [True] * len(given.defaults)
    by_place = [(each.arg, "place or name", may) for each, may in zip(places, optional)]
    by_name = [(each.arg, "name", value is not None) for each, value in zip(given.kwonlyargs, given.kw_defaults)]
    return [(None if re.fullmatch(r"arg\d", name) else name, how, may) for name, how, may in by_place + by_name]


def methods_of_the_stub():
    """By class and name. Of several with the same name the last, which takes all that there is."""
    stub = pathlib.Path(lapse.__file__).with_name("_lapse.pyi").read_text(encoding="utf-8")
    return {(node.name, each.name): each
            for node in ast.parse(stub).body if isinstance(node, ast.ClassDef)
            for each in node.body if isinstance(each, ast.FunctionDef)}


def test_the_stub_has_the_signatures_of_the_extension():
    compared = 0
    for (kind, name), declared in methods_of_the_stub().items():
        decorators = [ast.unparse(each) for each in declared.decorator_list]
        if "property" in decorators:
            continue
        about = getattr(getattr(lapse._lapse, kind), name).__doc__.splitlines()[0]
        if "*args" in about:  # of __exit__, and of what is overloaded
            continue
        actual = ast.parse(f"def {about}: ...").body[0]
        promised, kept = parameters_of(declared), parameters_of(actual)
        assert len(promised) == len(kept), about
        for (stub_name, stub_how, stub_may), (own_name, own_how, own_may) in zip(promised, kept):
            assert own_name in (None, stub_name) and stub_how == own_how, about
            assert stub_may == own_may or "overload" in decorators, about
        if ast.unparse(actual.returns) in ("bool", "int", "str", "None"):
            assert ast.unparse(declared.returns) in (ast.unparse(actual.returns), "NoReturn"), about
        compared += 1
    assert compared >= 60


def test_every_public_method_says_what_it_does():
    silent = [f"{kind.__name__}.{name}" for kind in (lapse.Store, lapse.KVStore, lapse.Family, lapse.Snapshot,
                                                     lapse.Lock, lapse.Throttle, lapse.Iterator)
              for name, member in inspect.getmembers(kind)
              if not name.startswith("_") and not (member.__doc__ or "").strip() and name not in ("key", "value")]
    assert silent == []
