// What atc does in each of its modes.
#pragma once

#include "atc/options.h"
#include "atc/progress.h"

namespace atc {

void Compile(const Options& options, Progress& progress);  // --mode=0
void WriteJson(const Options& options);                    // --mode=1
void Check(const Options& options);                        // --mode=3
void ShowInfo(const Options& options);                     // --mode=6

}  // namespace atc
