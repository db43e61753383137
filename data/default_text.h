// SPDX-License-Identifier: Apache-2.0
// The text to train on when none is named: Tare's own sources and docs, which the build joins and installs.
#pragma once

#include <filesystem>

namespace tare::data {

// default_text.txt in the folder that the environment's TARE_DATA_DIR names, if it does; else in
// ../share/tare beside the program's folder, or in the folder of the installation. Error that says where it
// is missing.
std::filesystem::path default_text_path();

}  // namespace tare::data
