// The factors X(a, b, ·) = exp w of the triples into each token: what the sweeps over a sentence share.
//
// Of a token t and a label b before it, a row of factors stands for each a whose pair (a, b) has an α. Where every label
// is a candidate of the token, rows are those of the table, and all a whose pairs have no weights share the last, of
// ones. Else rows are gathered, those of ones, too, and kept for the way back as long as that takes little memory.
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

    void use(const Triples& triples, const TripleKernels& kernels);
    void enter(const PairLattice& lattice);  // a new sentence

    // List the rows of (t, b), one b after the other; α(a, b) is alpha[a · stride].
    const Group& list(int64_t t, int64_t b, const double* alpha, int64_t stride);
    // out[c] = Σ_a α(a, b) X(a, b, c) of what was listed last, (t, b).
    void sum(int64_t t, double* out);
    const Group& at(int64_t t, int64_t b) const { return groups_[size_t(begins_[size_t(t)] + b)]; }

    // Of each row: α, or Σ α of those who share it; a, but of those; the row of the table.
    const double* amounts(const Group& group) const { return amounts_.data() + group.first; }
    const int32_t* before(const Group& group) const { return before_.data() + group.first; }
    const int32_t* contexts(const Group& group) const { return contexts_.data() + group.first; }

    // The rows where every label is a candidate of the token.
    const double* const* factors(const Group& group);
    // The rows [count, width] where not every label is one, padded with any factors. The caller may multiply them once.
    double* gathered(int64_t t, const Group& group);

private:
    const Triples* triples_ = nullptr;
    const TripleKernels* kernels_ = nullptr;
    const PairLattice* lattice_ = nullptr;
    std::vector<int64_t> begins_;  // [T] the first group of each token
    std::vector<Group> groups_;
    std::vector<double> amounts_, kept_, scratch_, sums_;
    std::vector<int32_t> before_, contexts_;
    std::vector<const double*> rows_;
    int64_t listed_ = 0, used_ = 0;  // of the lists, of kept_

    void make_room(int64_t count);
    Group list_rows(const int32_t* labels, int32_t here, int64_t A, const double* alpha, int64_t stride);
    Group list_gathered(const int32_t* labels, int32_t here, int64_t A, const double* alpha, int64_t stride);
    double* gather(int64_t t, const Group& group, double* sums);
};

}  // namespace tagline
