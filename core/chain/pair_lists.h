// Which pairs of labels may follow one another, as lists: the form of transitions where few pairs are legal. With them
// a step of a recursion costs as many operations as there are legal pairs, or vectors of them, instead of L²; and so
// does the memory of everything that has one number for each pair.
#pragma once

#include "chain/kernels.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tagline {

// When lists are chosen: where they are faster, or, for tests and benchmarks, never or wherever there can be any.
enum class PairUse { by_work, never, always };

class PairLists {
public:
    // The lists of the finite transitions [L, L] where they are faster than a matrix, for these kernels; else null. This
    // is the one place that chooses, by the transitions alone. Recent choices are kept: a pattern is looked at once.
    template <class Real>
    static std::shared_ptr<const PairLists> choose(const Scores<Real>& common, const Kernels<Real>& kernels);

    static PairUse use();
    static void set_use(PairUse use);

    const LegalPairs& legal() const { return legal_; }

    // The tables that these kernels work with; made when they are first asked for.
    template <class Real>
    const PairTables& tables(const Kernels<Real>& kernels) const;

    PairLists(const PairLists&) = delete;
    PairLists& operator=(const PairLists&) = delete;

private:
    // What a PairTable points to.
    struct Table {
        std::vector<PairTile> tiles;
        std::vector<int32_t> rows, columns, places, numbers;
        std::vector<uint32_t> lanes;
        std::vector<PairColumn> by_column;
        std::vector<int32_t> column_rows, column_places, column_numbers;
        void list_columns(int lanes_of_vector);
        PairTable view() const;
    };

    // Both tables, for vectors of one width.
    struct Cut {
        std::once_flag made;
        Table into, out_of;
        PairTables view{};
    };

    int64_t L_;
    std::vector<int32_t> previous_, next_, numbers_;
    std::vector<int64_t> leaving_, entering_;
    LegalPairs legal_{};
    mutable Cut narrow_, wide_;  // for float32 and for float64

    PairLists(const std::vector<uint8_t>& may_follow, int64_t L);
    const PairTables& cut(Cut& cut, int lanes, int most_vectors) const;
    template <class Lists>
    Table table(const Lists& rows_of, int lanes, int most_vectors) const;

    static std::shared_ptr<const PairLists> weigh(const std::vector<uint8_t>& may_follow, int64_t L, int lanes,
                                                  int most_vectors, bool narrow);
};

}  // namespace tagline
