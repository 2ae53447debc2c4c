// Expected counts of an HMM's sentences abreast: one sentence a lane, as many as a vector has. Included by kernels.cpp.
//
// The formulas are those of expected_counts.h, and every lane adds in the order in which a sentence alone does (see
// abreast.h): log Z and P(y_t) have the same bits in either way, sums over sentences differ in the last ones.
//
//     α'_j = x_j · Σ_i α_i E_ij      β_i = Σ_j E_ij w_j      w = x ⊙ β
// are multiply-adds with one E_ij for all lanes. Powers of two that are taken off α_t are taken off x_t as well, so w
// needs none. P(y_t) takes the place of x_t. Σ_t α_(t−1)ᵀ w_t is added up a few tokens at a time, while their rows are in
// the nearest cache, for each lane apart: a sentence that fails in the end is left out.
//
// What expected_counts.h does about labels that cannot be reached or sink is done here at every step, where some lane
// asks for it. A lane that falls out of range comes back as Status::guard with nothing added to any sum.

class CountsAbreast {
public:
    static constexpr int W = Lanes<double>::width;

    CountsAbreast(int count, const Scores<double>* sentences, const SumShared<double>& shared,
                  const SentenceCounts* want, Arena& scratch, const int* stop)
        : count(count), want(want), shared(shared), stop(stop), T(sentences[0].T), L(sentences[0].L),
          S(padded<double>(L)), row(L * W), rows(count, sentences, shared, scratch), x(rows.x),
          alpha(take<double>(scratch, T * row)), w(take<double>(scratch, kStepsAbreast * row)),
          totals(take<double>(scratch, L * row)), unused(take<double>(scratch, S)), failed(rows.failed) {
        for (int g = 0; g < W; ++g) lengths[g] = rows.lengths[g];
        for (int64_t n = 0; n < L * L; ++n) at(totals, n) = Vec<double>{};
        for (int64_t i = 0; shared.transitions.forbidden && i < L; ++i) {
            follow[i] = 0;
            for (int64_t j = 0; j < L; ++j) follow[i] |= int64_t(shared.may_enter[i * S + j] > 0) << j;
        }
    }

    void compute(Status* status) {
        rows.fill();
        bool finished = forward();
        if (finished) take_masses();
        finished = finished && (rows.watched ? backward<true>() : backward<false>());
        finished = finished && !__atomic_load_n(stop, __ATOMIC_RELAXED);
        if (finished) add_sums();
        for (int g = 0; g < count; ++g)
            status[g] = !finished ? Status::stopped : failed[g] ? Status::guard : Status::done;
    }

private:
    static constexpr int64_t kStepsAbreast = 16;  // of products: rows of α and w stay in the nearest cache
    const int count;
    const SentenceCounts* want;
    const SumShared<double>& shared;
    const int* stop;
    const int64_t T, L, S, row;
    CountingRows rows;
    double *x, *alpha;        // [T, L, W] x_t · 2^(−k_t), then P(y_t); α_t
    double* w;                // [kStepsAbreast, L, W] w_t of the latest tokens
    double* totals;           // [L, L, W] Σ_t α_(t−1)ᵀ w_t
    double* unused;           // [S] where rows of nobody go
    Counts<double>& failed;   // −1 where the sentence needs another way
    Counts<double> lengths;
    Counts<double> taken{};   // Σ_t k_t
    Counts<double> reach{};   // bit j: label j can be reached; only where transitions are forbidden
    int64_t follow[kMostLabelsAbreast];  // bits of the labels that may follow a label
    Vec<double> masses{};     // Σ_j α_(T−1)(j) end(j)
    Vec<double> shares{};     // 1 over them; 0 where a sentence has failed

    bool due(int64_t step) const { return (step & (rows.rest - 1)) == 0; }

    bool stopped(int64_t t) const {
        return t % kTokensBetweenPolls == kTokensBetweenPolls - 1 && __atomic_load_n(stop, __ATOMIC_RELAXED);
    }

    bool forward() {
        Vec<double> high{};
        for (int64_t j = 0; j < L; ++j) {
            at(alpha, j) = splat(shared.start[j]) * at(x, j);
            high = larger(high, at(alpha, j));
        }
        Counts<double> next = settle(0, high);
        end_at(0);
        for (int64_t t = 1; t < T; ++t) {
            double *out = alpha + t * row, *emitted = x + t * row;
            if (due(t - 1)) take_off(emitted, lengths > t ? next : Counts<double>{});
            high = Vec<double>{};
            multiply_abreast(out - row, shared.into, L, S, [&](int64_t j, Vec<double> lanes) TAGLINE_INLINED {
                const Vec<double> value = lanes * at(emitted, j);
                at(out, j) = value;
                high = larger(high, value);
            });
            if (due(t)) next = settle(t, high);
            end_at(t);
            if (stopped(t)) return false;
        }
        return true;
    }

    void take_off(double* emitted, Counts<double> exponents) {
        taken += exponents;
        const Vec<double> scale = powers_of_minus<double>(exponents);
        for (int64_t j = 0; j < L; ++j) at(emitted, j) *= scale;
    }

    // Bring lanes that fell far down back to size; the exponents that the next step takes off. `high` is the largest α_t.
    Counts<double> settle(int64_t t, Vec<double> high) {
        double* values = alpha + t * row;
        const Counts<double> small = (lengths > t) & ~failed & ~(high >= 0x1p-16);
        if (any<double>(small)) high = raise(values, x + t * row, high, small);
        if (rows.watched) keep_reachable(t, values);
        return (lengths > t) & ~failed & exponents_of<double>(high);
    }

    TAGLINE_APART Vec<double> raise(double* values, double* emitted, Vec<double> high, Counts<double> small) {
        const Counts<double> powers = powers_to_raise<double>(high, small, failed);
        const Vec<double> scale = powers_of_minus<double>(powers);
        for (int64_t j = 0; j < L; ++j) {
            at(values, j) *= scale;
            at(emitted, j) *= scale;
        }
        taken += powers;
        return high * scale;
    }

    // Keep labels that can be reached above 0, as Trellis::keep_reachable does.
    void keep_reachable(int64_t t, double* values) {
        const double* emitted = x + t * row;
        const bool by_steps = t > 0 && shared.transitions.forbidden;
        const Counts<double> open = by_steps ? spread_reach() : Counts<double>{};
        Counts<double> now{};
        for (int64_t j = 0; j < L; ++j) {
            Counts<double> here = at(emitted, j) > 0;
            if (t == 0) here &= all_lanes<double>(shared.start_allowed[j] > 0 ? -1 : 0);
            if (by_steps) here &= -(open >> j & 1);
            at(values, j) = here ? larger(at(values, j), splat(kFloor)) : Vec<double>{};
            now |= here & all_lanes<double>(int64_t(1) << j);
        }
        reach = now;
    }

    // The labels that may follow those of `reach`.
    Counts<double> spread_reach() const {
        Counts<double> next{};
        for (int64_t i = 0; i < L; ++i) next |= -(reach >> i & 1) & all_lanes<double>(follow[i]);
        return next;
    }

    // Sentences whose last token is t.
    TAGLINE_INLINED void end_at(int64_t t) {
        const Counts<double> ending = lengths == t + 1;
        if (any<double>(ending)) masses = ending ? folded<0, 1>(alpha + t * row, shared.end) : masses;
    }

    // Σ_j values(j) factors(j), or without factors, in the order of a sentence alone: within a lane of its vectors, then
    // by halves.
    template <int k, int kStep>
    Vec<double> folded(const double* values, const double* factors) const {
        Vec<double> sum{};
        if constexpr (kStep == W) {
            for (int64_t j = k; j < L; j += W) sum += factors ? at(values, j) * splat(factors[j]) : at(values, j);
        } else {
            sum = folded<k, 2 * kStep>(values, factors);
            if (k + kStep < L) sum += folded<k + kStep, 2 * kStep>(values, factors);
        }
        return sum;
    }

    void take_masses() {
        for (int g = 0; g < count; ++g) {
            const double mass = masses[g];
            if (!(mass >= ExpLimits<double>::kLeastMass)) failed[g] = -1;
            if (failed[g]) continue;
            const int64_t between = int64_t(shared.transition_power) * (rows.lengths[g] - 1);
            const int64_t ends = int64_t(shared.start_power) + int64_t(shared.end_power);
            *want[g].log_z = log_of(mass, ends + between + int64_t(rows.powers[g]) + taken[g]);
            shares[g] = 1 / mass;
        }
    }

    // A sentence enters at its own last token; until then its w is 0.
    template <bool kWatched>
    bool backward() {
        for (int64_t t = T - 1; t >= 0; --t) {
            const double* reached = alpha + t * row;
            double *emitted = x + t * row, *weighed = w + t % kStepsAbreast * row;
            const Counts<double> enters = lengths == t + 1;
            const bool entering = any<double>(enters);
            const auto take_beta = [&](int64_t j, Vec<double> beta) TAGLINE_INLINED {
                if (entering) beta += enters ? splat(shared.end[j]) * shares : Vec<double>{};
                const Vec<double> a = at(reached, j);
                if constexpr (kWatched) beta = a > 0 ? beta : Vec<double>{};  // it may lead to anything, even to +∞
                at(weighed, j) = beta * at(emitted, j);
                at(emitted, j) = a * beta;
            };
            if (t == T - 1)
                for (int64_t j = 0; j < L; ++j) take_beta(j, Vec<double>{});
            else
                multiply_abreast(w + (t + 1) % kStepsAbreast * row, shared.out_of, L, S, take_beta);
            if (t % kStepsAbreast == 0) add_products(t, t + kStepsAbreast < T ? t + kStepsAbreast : T);
            if (stopped(t)) return false;
        }
        return true;
    }

    // totals += Σ_t α_(t−1)ᵀ w_t over tokens first … last − 1, whose w are there.
    void add_products(int64_t first, int64_t last) {
        if (first == 0) first = 1;
        in_tiles<kTile>(0, L, [&]<int kRows>(int64_t i) {
            in_tiles<6>(0, L, [&]<int kColumns>(int64_t j) { add_tile<kRows, kColumns>(first, last, i, j); });
        });
    }

    template <int kRows, int kColumns>
    void add_tile(int64_t first, int64_t last, int64_t i, int64_t j) {
        Vec<double> sums[kRows * kColumns];
        repeat<kRows * kColumns>([&]<int k>() TAGLINE_INLINED {
            sums[k] = at(totals + (i + k / kColumns) * row, j + k % kColumns);
        });
        for (int64_t t = first; t < last; ++t) {
            const double *left = alpha + (t - 1) * row + i * W, *right = w + t % kStepsAbreast * row + j * W;
            Vec<double> u[kRows];
            repeat<kRows>([&]<int r>() TAGLINE_INLINED { u[r] = at(left, r); });
            repeat<kColumns>([&]<int k>() TAGLINE_INLINED {
                const Vec<double> v = at(right, k);
                repeat<kRows>([&]<int r>() TAGLINE_INLINED { sums[r * kColumns + k] += u[r] * v; });
            });
        }
        repeat<kRows * kColumns>([&]<int k>() TAGLINE_INLINED {
            at(totals + (i + k / kColumns) * row, j + k % kColumns) = sums[k];
        });
    }

    // Check Σ_j P(y_0 = j) = 1, and add to the sums what passes.
    void add_sums() {
        const Vec<double> sum = folded<0, 1>(x, nullptr);
        for (int g = 0; g < count; ++g) {
            const double error = sum[g] - 1, bound = larger_of(kSumError, kSumRounding * double(rows.lengths[g]));
            if (!(error <= bound && error >= -bound)) failed[g] = -1;
        }
        if (any<double>(failed)) forget_failed();
        for (int64_t j = 0; j < L; ++j) want[0].start[j] += sum_of(at(x, j));
        if (want[0].transitions)
            for (int64_t i = 0; i < L; ++i) add_totals(totals + i * row, want[0].transitions + i * S);
        if (want[0].symbols) add_symbols();
        if (want[0].nodes) write_nodes();
        if (want[0].moments)
            add_moments_abreast(*rows.sentences[0].gaussians, rows.vectors, x, T, L, want[0].moments);
    }

    // What their lanes hold may be ∞ or NaN.
    void forget_failed() {
        for (int64_t n = 0; n < T * L; ++n) at(x, n) = failed ? Vec<double>{} : at(x, n);
        for (int64_t n = 0; n < L * L; ++n) at(totals, n) = failed ? Vec<double>{} : at(totals, n);
        for (int64_t n = 0; rows.vectors && n < T * rows.sentences[0].gaussians->D; ++n)
            at(rows.vectors, n) = failed ? Vec<double>{} : at(rows.vectors, n);
    }

    // sums [S] += the sums over the lanes of each vector.
    void add_totals(const double* vectors, double* sums) const {
        for (int64_t j = 0; j < L; j += W) {
            Vec<double> some[W];
            for (int k = 0; k < W; ++k) some[k] = j + k < L ? at(vectors, j + k) : Vec<double>{};
            at(sums + j, 0) += sums_of_lanes<W, double>(some);
        }
    }

    // P(y_t) of each lane to the row of its symbol.
    void add_symbols() {
        constexpr int P = kPart<double>;
        for (int64_t t = 0; t < T; ++t) {
            const double* p = x + t * row;
            double* out[W];
            for (int g = 0; g < W; ++g) {
                const bool counts = t < rows.lengths[g] && want[g].ids[t] >= 0;
                out[g] = counts ? want[0].symbols + want[g].ids[t] * S : unused;
            }
            for (int64_t j = 0; j < L; j += P) {
                Vec<double> block[P];
                repeat<P>([&]<int k>() TAGLINE_INLINED { block[k] = j + k < L ? at(p, j + k) : Vec<double>{}; });
                turn_parts<double>(block);
                repeat<P>([&]<int r>() TAGLINE_INLINED {
                    repeat<kParts<double>>([&]<int q>() TAGLINE_INLINED {
                        add_part(block[r], q, out[q * P + r] + j);
                    });
                });
            }
        }
    }

    typedef double Two TAGLINE_LOOSE_VECTOR(16, 8);

    TAGLINE_INLINED static void add_part(Vec<double> v, int q, double* to) {
        alignas(16) double part[2];
        store_part<double>(v, q, part);
        *reinterpret_cast<Two*>(to) += *reinterpret_cast<const Two*>(part);
    }

    void write_nodes() const {
        for (int64_t t = 0; t < T; ++t) {
            const double* p = x + t * row;
            for (int g = 0; g < count; ++g)
                for (int64_t j = 0; !failed[g] && t < rows.lengths[g] && j < L; ++j) want[g].nodes[t * L + j] = p[j * W + g];
        }
    }
};

// `count` for more sentences at a time, longest first; false, with nothing done, where they cannot go abreast.
bool count_abreast(int count, const Scores<double>* sentences, const void* memory, const SentenceCounts* want,
                   Status* status, Arena& scratch, const int* stop) {
    const auto& shared = *static_cast<const SumShared<double>*>(memory);
    if (shared.pairs || sentences[0].per_position || sentences[0].L > kMostLabelsAbreast) return false;
    CountsAbreast(count, sentences, shared, want, scratch, stop).compute(status);
    return true;
}
