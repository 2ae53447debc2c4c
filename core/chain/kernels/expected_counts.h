// Expected counts of an HMM's sentences, the E step of Baum–Welch: α and β on one scale. Included by kernels.cpp.
//
// α_t and its exponents k_t are those of forward_backward.h. With c = Σ α_(T−1) ⊙ end,
//     β_(T−1) = end / c      w_t = x_t ⊙ β_t · 2^(−k_t)      β_(t−1) = E w_t
//     P(y_t = j) = α_t(j) β_t(j)      P(y_(t−1) = i, y_t = j) = α_(t−1)(i) E(i, j) w_t(j)
// as they stand: nothing is divided token by token, β needs no maximum and no guard of its own (where it underflows, so
// does the probability), and Σ_t α_(t−1)ᵀ w_t, multiplied by E once in the end, holds the counts of all sentences.
//
// Guard. EM drives parameters towards 0, so labels far below the maximum are common and mostly irrelevant: no label is
// too faint here. Those that can be reached are kept at kFloor at least, and those at 0 are left out of β. So whatever
// α has lost or gained that way is still missing in, or strange to, β, and Σ_j P(y_0 = j) is off 1 by its share of all
// paths: where that is more than kSumError and rounding, as where β overflows, the log domain takes over.
//
// Finite emissions that exp space cannot hold, as those of narrow Gaussians far from their means, are raised to kFaint
// where nothing is forbidden. That adds to the paths that go through them, and only to those: if these have less than
// kSumError of the sum as it is, they have less of the true one, and all numbers are right to that.

constexpr double kSumError = 1e-10, kSumRounding = 1e-15;  // at all, and a token
constexpr int64_t kStepsTogether = 64;  // of products, so that their rows stay in the cache

struct Steps {
    const double *left, *right;  // [count, S] α_(t−1) and w_t
    int64_t count;
};

template <int kRows, int kVectors>
inline void add_products_tile(const Steps* parts, int num_parts, int64_t S, int64_t i, int64_t n, double* sums) {
    Vec<double> total[kRows][kVectors];
    for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kVectors; ++v) total[r][v] = at(sums + (i + r) * S, n + v);
    for (int k = 0; k < num_parts; ++k) {
        const double *left = parts[k].left + i, *right = parts[k].right;
        for (int64_t t = 0; t < parts[k].count; ++t, left += S, right += S) {
            Vec<double> w[kVectors];
            for (int v = 0; v < kVectors; ++v) w[v] = at(right, n + v);
            for (int r = 0; r < kRows; ++r) {
                const Vec<double> u = splat(left[r]);
                for (int v = 0; v < kVectors; ++v) total[r][v] += u * w[v];
            }
        }
    }
    for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kVectors; ++v) at(sums + (i + r) * S, n + v) = total[r][v];
}

// Tiles of kMost rows by kVectors vectors: as many sums as there are registers for.
template <int kVectors>
inline void add_products_column(const Steps* parts, int num_parts, int64_t L, int64_t S, int64_t n, double* sums) {
    constexpr int kMost = kTile * 4 / kVectors > 8 ? 8 : kTile * 4 / kVectors;
    int64_t i = 0;
    for (; i + kMost <= L; i += kMost) add_products_tile<kMost, kVectors>(parts, num_parts, S, i, n, sums);
    if constexpr (kMost > 4)
        for (; i + 4 <= L; i += 4) add_products_tile<4, kVectors>(parts, num_parts, S, i, n, sums);
    for (; i + 2 <= L; i += 2) add_products_tile<2, kVectors>(parts, num_parts, S, i, n, sums);
    if (i < L) add_products_tile<1, kVectors>(parts, num_parts, S, i, n, sums);
}

// sums [L, S] += Σ over all steps of leftᵀ right.
inline void add_products(const Steps* parts, int num_parts, int64_t L, int64_t S, double* sums) {
    const int64_t vectors = S / Lanes<double>::width;
    int64_t n = 0;
    for (; n + kTile <= vectors; n += kTile) add_products_column<kTile>(parts, num_parts, L, S, n, sums);
    if (kTile > 2 && n + 3 == vectors) return add_products_column<3>(parts, num_parts, L, S, n, sums);
    for (; n + 2 <= vectors; n += 2) add_products_column<2>(parts, num_parts, L, S, n, sums);
    if (n < vectors) add_products_column<1>(parts, num_parts, L, S, n, sums);
}

// β of one sentence whose α is there, several sentences at a time.
struct Backward {
    Trellis<double>& of;
    const SentenceCounts& want;
    const int64_t T, L, S, vectors;
    double *w, *p;  // [T, S] w_t; P(y_t), null where it goes to want.nodes

    Backward(Trellis<double>& trellis, const SentenceCounts& want)
        : of(trellis), want(want), T(of.T), L(of.L), S(of.S), vectors(of.vectors), w(take<double>(of.scratch, T * S)),
          p(want.nodes ? nullptr : take<double>(of.scratch, T * S)) {}

    void begin() {
        Vec<double> sum{};
        const double *alpha = of.alpha + (T - 1) * S, *end = of.shared.end;
        for (int64_t n = 0; n < vectors; ++n) sum += at(alpha, n) * at(end, n);
        const double mass = sum_of(sum);
        if (!(mass >= ExpLimits<double>::kLeastMass)) of.status = Status::guard;
        if (of.status != Status::done) return;  // goes along with its group; nobody looks at its numbers
        *want.log_z = log_of(mass, of.powers_before(T) + int64_t(of.shared.end_power));
        const Vec<double> share = splat(1 / mass);
        const Row last = row(T - 1);
        for (int64_t n = 0; n < vectors; ++n) take_beta(last, n, at(end, n) * share);
    }

    // Where β_t goes, and what is needed to take it there.
    struct Row {
        const double *alpha, *x;
        double *w, *p;  // p: null where it goes to `nodes`
        double* nodes;
        double scale;
    };

    Row row(int64_t t) const {
        return {of.alpha + t * S,
                of.x[t],
                w + t * S,
                p ? p + t * S : nullptr,
                p ? nullptr : want.nodes + t * L,
                power_of_two(-of.alpha_exponent[t], double())};
    }

    // A vector of β_t: what it makes of P(y_t) and w_t.
    void take_beta(const Row& row, int64_t n, Vec<double> beta) const {
        const Vec<double> alpha = at(row.alpha, n);
        beta = alpha > 0 ? beta : Vec<double>{};  // what cannot be reached may lead to anything, even to +∞
        at(row.w, n) = beta * (at(row.x, n) * splat(row.scale));
        if (row.p)
            at(row.p, n) = alpha * beta;
        else
            store_row(row.nodes, n, L, alpha * beta);
    }

    template <int kCount, bool kPairs>
    static void step(Backward* const* group, int64_t k) {
        const double* before[kCount];
        Row rows[kCount];
        for (int g = 0; g < kCount; ++g) {
            before[g] = group[g]->w + (group[g]->T - 1 - k) * group[g]->S;
            rows[g] = group[g]->row(group[g]->T - 2 - k);
        }
        const auto take = [&](int g, int64_t n, Vec<double> lanes) TAGLINE_INLINED {
            const Row* row = rows + g;
            __asm__("" : "+r"(row));  // read it here: what is held in registers over the product pushes others out
            group[g]->take_beta(*row, n, lanes);
        };
        const SumShared<double>& shared = group[0]->of.shared;
        const int64_t L = group[0]->L, S = group[0]->S;
        if constexpr (kPairs) {
            double* packed[kCount];
            for (int g = 0; g < kCount; ++g) packed[g] = group[g]->of.packed;
            multiply_pairs<SumProduct, kCount>(before, shared.pairs->out_of, shared.out_of, packed, L, S, take);
        } else {
            multiply<SumProduct, kCount>(before, shared.out_of, L, S, take);
        }
    }

    // An upper bound of the probability of paths through emissions that were raised.
    double faint_share() const {
        double share = 0;
        for (int64_t t = 0; t < T; ++t) {
            const double* here = p ? p + t * S : want.nodes + t * L;
            for (int64_t j = 0; j < L; ++j)
                if (of.x[t][j] <= kFaint) share += here[j];
        }
        return share;
    }

    // Add to the sums; false, with nothing added, where something went out of range on the way.
    bool finish() {
        if (of.status != Status::done) return false;
        Vec<double> sum{};
        for (int64_t n = 0; n < vectors; ++n) sum += first(n);
        const double error = sum_of(sum) - 1, bound = larger_of(kSumError, kSumRounding * double(T));
        if (!(error <= bound && error >= -bound) || (of.faint && !(faint_share() <= kSumError))) {
            of.status = Status::guard;
            return false;
        }
        for (int64_t n = 0; n < vectors; ++n) at(want.start, n) += first(n);
        if (want.moments) add_moments(*of.s.gaussians, of.s.emissions, p, T, L, want.moments);
        for (int64_t t = 0; want.symbols && t < T; ++t) {
            if (want.ids[t] < 0) continue;
            double* row = want.symbols + want.ids[t] * S;
            for (int64_t n = 0; n < vectors; ++n) at(row, n) += at(p + t * S, n);
        }
        return true;
    }

    Vec<double> first(int64_t n) const { return p ? at(p, n) : load_row(want.nodes, n, L, 0.0); }
};

// Products of the steps of a group, a few dozen at a time.
class Products {
public:
    Products(int64_t L, int64_t S, double* sums) : L_(L), S_(S), sums_(sums) {}

    void add(const double* alpha, const double* w, int64_t T) {
        for (int64_t t = 1; t < T;) {
            const int64_t room = kStepsTogether - steps_, count = T - t < room ? T - t : room;
            parts_[num_parts_++] = {alpha + (t - 1) * S_, w + t * S_, count};
            steps_ += count;
            t += count;
            if (steps_ == kStepsTogether || num_parts_ == kMostParts) flush();
        }
    }

    void flush() {
        if (num_parts_) add_products(parts_, num_parts_, L_, S_, sums_);
        num_parts_ = 0;
        steps_ = 0;
    }

private:
    static constexpr int kMostParts = 8;
    const int64_t L_, S_;
    double* const sums_;
    Steps parts_[kMostParts];
    int num_parts_ = 0;
    int64_t steps_ = 0;
};

// Whether scores are finite or −∞.
inline bool are_scores(const double* values, int64_t count) {
    constexpr int W = Lanes<double>::width;
    const Vec<double> limit = splat(kLargestScore<double>);
    unsigned good = ~0u;
    for (int64_t n = 0; n * W < count; ++n) good &= lanes_at_least<double>(limit, load_row(values, n, count, 0.0));
    return (good & ((1u << W) - 1)) == (1u << W) - 1;
}

void count(int count, const Scores<double>* sentences, const void* memory, const SentenceCounts* want, Status* status,
           Arena& scratch, const int* stop) {
    const auto& shared = *static_cast<const SumShared<double>*>(memory);
    Trellis<double>* group[kGroup];
    for (int g = 0; g < count; ++g) {
        group[g] = new (take<Trellis<double>>(scratch, 1)) Trellis<double>(sentences[g], shared, scratch, stop);
        const int64_t width = sentences[g].gaussians ? sentences[g].gaussians->D : sentences[g].L;
        const bool scores = sentences[g].symbols || are_scores(sentences[g].emissions, sentences[g].T * width);
        group[g]->begin_counting();
        if (!scores) group[g]->status = Status::guard;
    }
    const auto stopped = [&](int64_t k) {
        return k % kTokensBetweenPolls == kTokensBetweenPolls - 1 && __atomic_load_n(stop, __ATOMIC_RELAXED);
    };
    bool gave_up = false;
    for (int64_t k = 0; !gave_up && k < group[0]->alpha_steps; ++k) {
        advance<double, true>(group, count, k);
        gave_up = stopped(k);
    }
    Backward* back[kGroup];
    for (int g = 0; !gave_up && g < count; ++g) {
        back[g] = new (take<Backward>(scratch, 1)) Backward(*group[g], want[g]);
        back[g]->begin();
    }
    int active = count;
    for (int64_t k = 0; !gave_up && k < sentences[0].T - 1; ++k) {
        while (sentences[active - 1].T - 1 <= k) --active;
        const auto step = [&]<int kCount>(Backward* const* some) {
            shared.pairs ? Backward::step<kCount, true>(some, k) : Backward::step<kCount, false>(some, k);
        };
        if (active == 4) {
            step.template operator()<4>(back);
        } else {
            if (active >= 2) step.template operator()<2>(back);
            if (active % 2) step.template operator()<1>(back + active - 1);
        }
        gave_up = stopped(k);
    }
    gave_up |= __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
    Products products(group[0]->L, group[0]->S, want[0].transitions);
    for (int g = 0; g < count; ++g) {
        if (!gave_up && back[g]->finish() && want[g].transitions) products.add(group[g]->alpha, back[g]->w, group[g]->T);
        status[g] = gave_up ? Status::stopped : group[g]->status;
    }
    products.flush();
}

void finish_counts(const void* memory, const double* sums, int64_t L, double* counts) {
    const auto& shared = *static_cast<const SumShared<double>*>(memory);
    const int64_t S = padded<double>(L);
    for (int64_t i = 0; i < L; ++i)
        for (int64_t j = 0; j < L; ++j) {
            const double factor = shared.into[i * S + j];
            if (factor > 0) counts[i * L + j] += factor * sums[i * S + j];
        }
}
