#include "second_order/rows.h"

#include "runtime/growing.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int64_t kMostKept = int64_t(1) << 20;  // factors of a sentence, 8 bytes each

}  // namespace

void TripleRows::use(const Triples& triples) {
    triples_ = &triples;
    ones_.assign(size_t(triples.stride()), 1.0);
}

void TripleRows::enter(const PairLattice& lattice) {
    lattice_ = &lattice;
    groups_.clear();
    begins_.assign(size_t(lattice.T()), 0);
    listed_ = used_ = 0;
    int64_t needed = 0;
    for (int64_t t = 2; t < lattice.T(); ++t)
        if (!lattice.all(t)) needed += (lattice.count(t - 2) + 1) * lattice.count(t - 1) * lattice.width(t);
    at_least(kept_, std::min(needed, kMostKept));
}

// Room for so many more entries. Pairs without weights have none, so what a sentence needs is seen on the way.
void TripleRows::make_room(int64_t count) {
    if (int64_t(amounts_.size()) >= listed_ + count) return;
    const size_t size = size_t(std::max(listed_ + count, listed_ + listed_ / 4));
    amounts_.resize(size);
    before_.resize(size);
    contexts_.resize(size);
}

const TripleRows::Group& TripleRows::list(int64_t t, int64_t b, const double* alpha, int64_t stride) {
    if (b == 0) begins_[size_t(t)] = int64_t(groups_.size());
    make_room(lattice_->count(t - 2) + 1);
    const int32_t *labels = lattice_->labels(t - 2), here = lattice_->label(t - 1, b);
    double *amounts = amounts_.data() + listed_, bare = 0;
    int32_t *before = before_.data() + listed_, *contexts = contexts_.data() + listed_;
    int64_t count = 0;
    for (int64_t a = 0; a < lattice_->count(t - 2); ++a) {
        const double amount = alpha[a * stride];
        if (amount == 0) continue;
        const int32_t context = triples_->row(labels[a], here);
        if (context < 0) {
            bare += amount;
            continue;
        }
        amounts[count] = amount;
        before[count] = int32_t(a);
        contexts[count++] = context;
    }
    if (bare > 0) {
        amounts[count] = bare;
        contexts[count++] = -1;
    }
    Group group{listed_, count, -1, bare > 0};
    listed_ += count;
    const int64_t size = count * lattice_->width(t);
    if (!lattice_->all(t) && used_ + size <= kMostKept) {
        group.kept = used_;
        used_ += size;
        gather(t, group, kept_.data() + group.kept);
    }
    groups_.push_back(group);
    return groups_.back();
}

// Behind the candidates stand factors of other labels, so that rows of like width take the same way.
void TripleRows::gather(int64_t t, const Group& group, double* out) {
    const int64_t C = lattice_->count(t), W = lattice_->width(t);
    const int32_t* places = contexts(group);
    int32_t* labels = at_least(labels_, W);
    std::copy(lattice_->labels(t), lattice_->labels(t) + C, labels);
    std::fill(labels + C, labels + W, labels[0]);
    for (int64_t k = 0; k < group.count; ++k) {
        const double* row = places[k] < 0 ? ones_.data() : triples_->exps() + places[k] * triples_->stride();
        for (int64_t c = 0; c < W; c += 8, out += 8)
            for (int64_t j = 0; j < 8; ++j) out[j] = row[labels[c + j]];
    }
}

double* TripleRows::gathered(int64_t t, const Group& group) {
    if (group.kept >= 0) return kept_.data() + group.kept;
    double* out = at_least(scratch_, group.count * lattice_->width(t));
    gather(t, group, out);
    return out;
}

const double* const* TripleRows::factors(int64_t t, const Group& group) {
    rows_.resize(size_t(group.count));
    if (lattice_->all(t)) {
        const int32_t* places = contexts(group);
        for (int64_t k = 0; k < group.count; ++k)
            rows_[size_t(k)] = places[k] < 0 ? ones_.data() : triples_->exps() + places[k] * triples_->stride();
        return rows_.data();
    }
    const double* row = gathered(t, group);
    for (int64_t k = 0; k < group.count; ++k, row += lattice_->width(t)) rows_[size_t(k)] = row;
    return rows_.data();
}

}  // namespace tagline
