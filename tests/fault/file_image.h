// The files of one directory, as bytes.

#pragma once

#include <map>
#include <string>

namespace lapse::fault {

using FileImage = std::map<std::string, std::string>;  // name → contents

// Regular files only; REQUIRES: nobody is changing them.
FileImage read_directory(const std::string& directory);

// Makes the directory hold exactly these files.
void write_directory(const std::string& directory, const FileImage& files);

std::string read_whole_file(const std::string& path);
void write_whole_file(const std::string& path, const std::string& contents);

}  // namespace lapse::fault
