// SPDX-License-Identifier: Apache-2.0
// A program outside Tare's tree that links the installed library.
#include <iostream>

#include "tare/core/version.h"

int main() { std::cout << "linked with Tare " << tare::version() << "\n"; }
