// The factors X(a, b, ·) = exp w of the triples into each token: what the sweeps over a sentence share.
//
// Of a token t and a label b before it, a row of factors stands for each a whose pair (a, b) has an α and weights of
// triples. All other a that have an α share one row of ones, the last. Where every label is a candidate of the token,
// rows are those of the table. Else they are gathered: once a sentence, as long as that takes little memory.
#pragma once

#include "second_order/triples.h"

#include <vector>

namespace tagline {

class TripleRows {
public:
    // The rows of one t and b, as places in lists of the whole sentence.
    struct Group {
        int64_t first, count;
        int64_t kept;  // where the gathered factors are kept; −1 where they are not
        bool ones;     // whether the last row is the one of ones

        int64_t contexts() const { return count - ones; }  // rows that have weights
    };

    void use(const Triples& triples);
    void enter(const PairLattice& lattice);  // a new sentence

    // List the rows of (t, b), one b after the other; α(a, b) is alpha[a · stride].
    const Group& list(int64_t t, int64_t b, const double* alpha, int64_t stride);
    const Group& at(int64_t t, int64_t b) const { return groups_[size_t(begins_[size_t(t)] + b)]; }

    // Of each row: α, or Σ α of those who share it; a; the row of the table. The last two not of the row of ones.
    const double* amounts(const Group& group) const { return amounts_.data() + group.first; }
    const int32_t* before(const Group& group) const { return before_.data() + group.first; }
    const int32_t* contexts(const Group& group) const { return contexts_.data() + group.first; }

    // The rows, padded to the width of the token with any numbers.
    const double* const* factors(int64_t t, const Group& group);
    // The same [count, width] for a token of which not every label is a candidate. The caller may multiply them once.
    double* gathered(int64_t t, const Group& group);

private:
    const Triples* triples_ = nullptr;
    const PairLattice* lattice_ = nullptr;
    std::vector<int64_t> begins_;  // [T] the first group of each token
    std::vector<Group> groups_;
    std::vector<double> amounts_, ones_, kept_, scratch_;
    std::vector<int32_t> before_, contexts_, labels_;
    std::vector<const double*> rows_;
    int64_t listed_ = 0, used_ = 0;  // of the lists, of kept_

    void make_room(int64_t count);
    void gather(int64_t t, const Group& group, double* out);
};

}  // namespace tagline
