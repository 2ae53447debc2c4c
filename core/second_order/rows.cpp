#include "second_order/rows.h"

#include "runtime/growing.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int64_t kMostKept = int64_t(1) << 20;  // factors of a sentence, 8 bytes each

}  // namespace

void TripleRows::use(const Triples& triples, const TripleKernels& kernels) {
    triples_ = &triples;
    kernels_ = &kernels;
    sums_.resize(size_t(triples.stride()));
}

void TripleRows::enter(const PairLattice& lattice) {
    lattice_ = &lattice;
    groups_.clear();
    begins_.assign(size_t(lattice.T()), 0);
    listed_ = used_ = 0;
    int64_t needed = 0;
    for (int64_t t = 2; t < lattice.T(); ++t)
        if (!lattice.all(t)) needed += lattice.count(t - 2) * lattice.count(t - 1) * lattice.width(t);
    at_least(kept_, std::min(needed, kMostKept));
}

// Room for so many more entries. Pairs without weights may have none, so what a sentence needs is seen on the way.
void TripleRows::make_room(int64_t count) {
    if (int64_t(amounts_.size()) >= listed_ + count) return;
    const size_t size = size_t(std::max(listed_ + count, listed_ + listed_ / 4));
    amounts_.resize(size);
    before_.resize(size);
    contexts_.resize(size);
}

const TripleRows::Group& TripleRows::list(int64_t t, int64_t b, const double* alpha, int64_t stride) {
    if (b == 0) begins_[size_t(t)] = int64_t(groups_.size());
    const int64_t A = lattice_->count(t - 2);
    make_room(A + 1);
    const int32_t *labels = lattice_->labels(t - 2), here = lattice_->label(t - 1, b);
    if (lattice_->all(t)) {
        groups_.push_back(list_rows(labels, here, A, alpha, stride));
    } else {
        groups_.push_back(list_gathered(labels, here, A, alpha, stride));
        Group& group = groups_.back();
        const int64_t size = group.count * lattice_->width(t);
        if (used_ + size <= kMostKept) {
            group.kept = used_;
            used_ += size;
        }
    }
    listed_ += groups_.back().count;
    return groups_.back();
}

TripleRows::Group TripleRows::list_rows(const int32_t* labels, int32_t here, int64_t A, const double* alpha,
                                        int64_t stride) {
    double *amounts = amounts_.data() + listed_, bare = 0;
    int32_t *before = before_.data() + listed_, *contexts = contexts_.data() + listed_;
    int64_t count = 0;
    for (int64_t a = 0; a < A; ++a) {  // without a jump: what comes next is hard to foresee
        const double amount = alpha[a * stride];
        const int32_t context = triples_->row(labels[a], here);
        bare += context < 0 ? amount : 0;
        amounts[count] = amount;
        before[count] = int32_t(a);
        contexts[count] = context;
        count += (context >= 0) & (amount != 0);
    }
    if (bare > 0) {
        amounts[count] = bare;
        contexts[count++] = int32_t(triples_->rows());
    }
    return {listed_, count, -1, bare > 0};
}

TripleRows::Group TripleRows::list_gathered(const int32_t* labels, int32_t here, int64_t A, const double* alpha,
                                            int64_t stride) {
    double* amounts = amounts_.data() + listed_;
    int32_t *before = before_.data() + listed_, *contexts = contexts_.data() + listed_;
    const int32_t ones = int32_t(triples_->rows());
    int64_t count = 0;
    for (int64_t a = 0; a < A; ++a) {
        const int32_t context = triples_->row(labels[a], here);
        amounts[count] = alpha[a * stride];
        before[count] = int32_t(a);
        contexts[count] = context < 0 ? ones : context;
        count += amounts[count] != 0;
    }
    return {listed_, count, -1, false};
}

void TripleRows::sum(int64_t t, double* out) {
    const Group& group = groups_.back();
    if (lattice_->all(t))
        kernels_->combine(group.count, amounts(group), factors(group), lattice_->width(t), out);
    else
        gather(t, group, out);
}

double* TripleRows::gather(int64_t t, const Group& group, double* sums) {
    const int64_t W = lattice_->width(t);
    double* rows = group.kept < 0 ? at_least(scratch_, group.count * W) : kept_.data() + group.kept;
    kernels_->gather(group.count, amounts(group), contexts(group), triples_->exps(), triples_->stride(),
                     lattice_->labels(t), W, rows, sums);
    return rows;
}

double* TripleRows::gathered(int64_t t, const Group& group) {
    return group.kept < 0 ? gather(t, group, sums_.data()) : kept_.data() + group.kept;
}

const double* const* TripleRows::factors(const Group& group) {
    rows_.resize(size_t(group.count));
    const int32_t* places = contexts(group);
    for (int64_t k = 0; k < group.count; ++k) rows_[size_t(k)] = triples_->exps() + places[k] * triples_->stride();
    return rows_.data();
}

}  // namespace tagline
