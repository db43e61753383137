// SPDX-License-Identifier: Apache-2.0
// The style sheet of a report page: light, dark and printed; wide and narrow.
#pragma once

namespace tare::bench {

// Series have colours that remain apart for the colour-blind (after Okabe and Ito, 2008), darkened for white
// paper and lightened for a dark screen.
extern const char* const kReportStyle;

}  // namespace tare::bench
