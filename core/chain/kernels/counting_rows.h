// Emissions of an HMM's sentences abreast, one sentence a lane: rows of a table that symbols name, rows of scores, or
// densities of vectors, as exponentials. Included by kernels.cpp.
//
// Every lane has the bits of Trellis::exponentiate for its sentence alone. A lane fails where that would raise faint
// emissions or give up: expected_counts.h has to answer for it.

// Call take(j, lanes) for each of n columns of W rows, for some of them twice.
template <class Take>
TAGLINE_INLINED inline void turn_rows(const double* const* rows, int64_t n, const Take& take) {
    constexpr int W = Lanes<double>::width, P = kPart<double>;
    for (int64_t j = 0; n < P && j < n; ++j) {
        Vec<double> lanes;
        for (int g = 0; g < W; ++g) lanes[g] = rows[g][j];
        take(j, lanes);
    }
    for (int64_t next = 0; n >= P && next < n; next += P) {
        const int64_t j = next + P <= n ? next : n - P;
        Vec<double> block[P];
        repeat<P>([&]<int r>() TAGLINE_INLINED {
            const double* parts[kParts<double>];
            repeat<kParts<double>>([&]<int q>() TAGLINE_INLINED { parts[q] = rows[q * P + r] + j; });
            block[r] = join_parts<double>(parts);
        });
        turn_parts<double>(block);
        repeat<P>([&]<int k>() TAGLINE_INLINED { take(j + k, block[k]); });
    }
}

struct CountingRows {
    static constexpr int W = Lanes<double>::width;
    const int count;
    const Scores<double>* sentences;
    const SumShared<double>& shared;
    const int64_t T, L, S;
    int64_t lengths[W];         // 0 where there is no sentence
    double* x;                  // [T, L, W] exp(e_t)·2^−K, zeros where a sentence has ended or failed
    double* vectors = nullptr;  // [T, D, W] of Gaussians
    Vec<double> powers{};       // Σ_t K
    Counts<double> failed{};    // −1 where the sentence needs another way
    int64_t rest = 8;           // steps from one rescale to the next that suit all lanes
    bool watched = false;       // some lane has labels that cannot be reached, or may sink

    CountingRows(int count, const Scores<double>* sentences, const SumShared<double>& shared, Arena& scratch)
        : count(count), sentences(sentences), shared(shared), T(sentences[0].T), L(sentences[0].L),
          S(padded<double>(L)) {
        for (int g = 0; g < W; ++g) lengths[g] = g < count ? sentences[g].T : 0;
        const PaddedGaussians* gaussians = sentences[0].gaussians;
        const int64_t widest = gaussians && gaussians->D > S ? gaussians->D : S;
        nothing = take<double>(scratch, widest);
        for (int64_t j = 0; j < widest; ++j) nothing[j] = 0;
        x = take<double>(scratch, T * L * W);
        if (gaussians) vectors = take<double>(scratch, T * gaussians->D * W);
    }

    // Fill x and the rest.
    void fill() {
        for (int g = 0; g < W; ++g) own[g] = {0, false, false};
        if (sentences[0].symbols)
            look_up();
        else
            exponentiate();
        settle();
        if (any<double>(failed))
            for (int64_t n = 0; n < T * L; ++n) at(x, n) = failed ? Vec<double>{} : at(x, n);
    }

private:
    double* nothing;  // zeros: the rows of sentences that have ended
    Spread<double> own[W];

    void look_up() {
        const Spread<double>& all = shared.table_spread;
        const double step = all.range + shared.transitions.range();
        const bool narrow = !all.forbidden && !all.too_large && step <= ExpLimits<double>::kFiniteRange;
        for (int g = 0; narrow && g < count; ++g) own[g] = all;
        double sums[W] = {};
        for (int64_t t = 0; t < T; ++t) {
            const double* rows[W];
            for (int g = 0; g < W; ++g) {
                rows[g] = nothing;
                if (t >= lengths[g]) continue;
                const int64_t symbol = sentences[g].symbols[t], r = symbol < 0 ? sentences[g].rows - 1 : symbol;
                rows[g] = shared.table + r * S;
                sums[g] += shared.table_power[r];
                if (!narrow) widen(own[g], shared.row_spreads[r]);
            }
            double* out = x + t * L * W;
            turn_rows(rows, L, [&](int64_t j, Vec<double> lanes) TAGLINE_INLINED { at(out, j) = lanes; });
        }
        for (int g = 0; g < W; ++g) powers[g] = sums[g];
    }

    static void widen(Spread<double>& sum, const Spread<double>& row) {
        sum = {larger_of(sum.range, row.range), sum.forbidden || row.forbidden, sum.too_large || row.too_large};
    }

    // As exp_rows has it, lane by lane.
    void exponentiate() {
        const PaddedGaussians* gaussians = sentences[0].gaussians;
        const int64_t width = gaussians ? gaussians->D : L;
        const Vec<double> limit = splat(kLargestScore<double>);
        Vec<double> lowest{}, largest{};
        Counts<double> strange{};  // NaN or +∞
        for (int64_t t = 0; t < T; ++t) {
            const double* rows[W];
            Counts<double> here;
            for (int g = 0; g < W; ++g) {
                here[g] = t < lengths[g] ? -1 : 0;
                rows[g] = here[g] ? sentences[g].emissions + t * width : nothing;
            }
            double *out = x + t * L * W, *given = gaussians ? vectors + t * width * W : out;
            turn_rows(rows, width, [&](int64_t k, Vec<double> lanes) TAGLINE_INLINED {
                at(given, k) = lanes;
                strange |= ~(limit >= lanes);
            });
            if (gaussians) log_density_abreast(*gaussians, given, L, S, out);
            Vec<double> high = at(out, 0);
            for (int64_t j = 1; j < L; ++j) high = larger(high, at(out, j));
            high = (high > -kInf) & here ? high : Vec<double>{};
            largest = larger(largest, larger(high, -high));
            const Vec<double> power = powers_in<double>(high);
            const Powers<double> of(power);
            powers += power;
            Vec<double> low{};
            for (int64_t j = 0; j < L; ++j) {
                const Vec<double> value = of.exp(at(out, j), low);
                at(out, j) = here ? value : Vec<double>{};
            }
            lowest = smaller(lowest, here ? low : Vec<double>{});
        }
        for (int g = 0; g < count; ++g) {
            own[g] = {1 - kLn2 * lowest[g], false, largest[g] > kLargestScore<double>};
            if (!(own[g].range < kInf)) forbid(g, gaussians);
            const bool faint = !own[g].forbidden && own[g].range > ExpLimits<double>::kEmissionRange;
            if (faint || strange[g]) failed[g] = -1;
        }
    }

    // Some score of a sentence is −∞: its range is that of the finite ones. Vectors that far out are left to other ways.
    void forbid(int g, const PaddedGaussians* gaussians) {
        own[g].forbidden = true;
        own[g].range = gaussians ? kInf : 0;
        for (int64_t t = 0; !gaussians && t < lengths[g]; ++t)
            own[g].range = larger_of(own[g].range, extremes_of(sentences[g].emissions + t * L, L).range());
    }

    // What Trellis::exponentiate settles for a sentence alone; `rest` is the fewest steps that a lane asks for.
    void settle() {
        constexpr double kMost = ExpLimits<double>::kEmissionRange;
        const double transition_range = larger_of(shared.transitions.range(), shared.edge_range);
        for (int g = 0; g < count; ++g) {
            const bool fits = !shared.too_large && !own[g].too_large && own[g].range <= kMost;
            if (!fits || !(shared.edge_range <= kMost)) failed[g] = -1;
            if (failed[g]) continue;
            const bool guarded = shared.forbidden || shared.transitions.forbidden || own[g].forbidden ||
                                 !(own[g].range + transition_range <= ExpLimits<double>::kFiniteRange);
            const int64_t steps = guarded ? 1 : steps_without_rescale(own[g].range, transition_range, L);
            watched |= guarded;
            rest = steps < rest ? steps : rest;
        }
    }
};
