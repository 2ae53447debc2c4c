// Column files, the first stage: bytes → words by number and sentences. Lines have fields, split on runs of blank and
// tab; a blank line ends a sentence.
#pragma once

#include "runtime/outcome.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tagline {

struct ColumnOptions {
    int64_t columns = 0;      // expected in each line; 0: as many as the first line has
    int64_t most = 0;         // that the first line may have
    std::string comment;      // lines that begin with it are left out; empty: none
    bool docstart = false;    // lines whose first field is -DOCSTART- end a sentence and are left out
    bool skip_broken = false;  // leave out sentences with a wrong line instead of stopping at it
};

// A line that does not fit. `columns` is what it has; −1 stands for a zero byte (not a text file).
struct BrokenLine {
    int64_t line, begin, end;  // counted from 1; bytes of the buffer
    int64_t columns;
};

struct ColumnTable {
    int64_t columns = 0;
    std::vector<int64_t> offsets{0};                 // [B + 1]
    std::vector<int64_t> lines;                      // [B] the line on which each sentence begins, from 1
    std::vector<std::vector<int32_t>> ids;           // [columns][N]
    std::vector<std::vector<std::string_view>> words;  // [columns] distinct fields, in the order of first use
    std::vector<BrokenLine> broken;  // the first of each broken sentence; without skip_broken at most one. Where the
                                     // first line has too many columns it stands here alone, and nothing is parsed
    int64_t total_lines = 0;
};

// Parse a buffer, which the words point into. False when interrupted.
bool parse_columns(std::string_view text, const ColumnOptions& options, ColumnTable& table,
                   const Interrupted& interrupted);

}  // namespace tagline
