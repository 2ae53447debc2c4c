// Exp space: what the sentences of a batch share when sums are asked for, prepared once; the limits of exp space; the
// labels that a recursion can reach. forward_backward.h has the formulas. Included by kernels.cpp.

template <class Real>
struct ExpLimits;

template <>
struct ExpLimits<float> {
    static constexpr float kFiniteRange = 60;     // nats: products stay above 2^-87
    static constexpr float kEmissionRange = 80;   // nats: a finite emission has x > 0
    static constexpr float kLeastLabel = 0x1p-48f;
    static constexpr float kLeastMaximum = 0x1p-64f;  // of a step, before its rescale
    static constexpr double kLeastMass = 0x1p-100;    // Σ over an edge, before the rescale
    static constexpr int64_t kMaximumBits = 63, kMassBits = 99;  // with a bit for rounding
    static constexpr float kLeastNats = 85;           // exp(−85) is still a normal number,
    static constexpr int64_t kGrowthBits = 48;        // and 2^(2·48) · L is still finite
};

template <>
struct ExpLimits<double> {
    static constexpr double kFiniteRange = 480;
    static constexpr double kEmissionRange = 690;
    static constexpr double kLeastLabel = 0x1p-400;
    static constexpr double kLeastMaximum = 0x1p-500;
    static constexpr double kLeastMass = 0x1p-900;
    static constexpr int64_t kMaximumBits = 499, kMassBits = 899;
    static constexpr double kLeastNats = 700;
    static constexpr int64_t kGrowthBits = 400;
};

constexpr double kFaint = 0x1p-990;   // of finite emissions there
constexpr double kFloor = 0x1p-1000;  // of reachable labels where expected counts are asked for, see expected_counts.h

// The nats between 1 and a limit above.
template <class Real>
constexpr Real nats_to(int64_t bits) {
    return Real(double(bits) * kLn2);
}

// So many steps may pass from one rescale to the next that neither their number nor where they begin changes a bit: all
// numbers stay normal, and no limit is reached, so that a rescale only moves powers of two. Without forbidden scores a
// step shrinks the maximum by exp(−transition_range)/2 at most and lets it grow by 2 L at most; labels lie within
// `range` + transition_range of it, those of β within transition_range.
template <class Real>
inline int64_t steps_without_rescale(Real range, Real transition_range, int64_t L) {
    typedef ExpLimits<Real> Limits;
    const Real shrink = transition_range + Real(kLn2);
    int64_t bits = 1;
    while ((int64_t(1) << bits) < 2 * L) ++bits;
    int64_t steps = 8;
    for (; steps > 1; steps /= 2) {
        const Real fall = Real(steps) * shrink;
        if (steps * bits <= Limits::kGrowthBits &&                                             // α β stays finite
            range + nats_to<Real>(steps * bits) <= Limits::kLeastNats &&                       // x over such growth
            fall <= nats_to<Real>(Limits::kMaximumBits) &&                                     // kLeastMaximum
            2 * fall + shrink + transition_range <= nats_to<Real>(Limits::kMassBits) &&        // kLeastMass of an edge
            2 * fall + 2 * transition_range + range <= Limits::kLeastNats)                     // α_j β_j
            break;
    }
    return steps;
}

// log of a sum, from which powers of two were taken: the same bits however many of them are still in the mass.
inline double log_of(double mass, int64_t powers) {
    const int k = exponent_of(mass);
    return __builtin_log(mass * power_of_two(-k, double())) + double(powers + k) * kLn2;
}

// What the sentences of a batch share.
template <class Real>
struct SumShared {
    Real start_power, end_power, transition_power;  // K of start, end and the shared transitions
    Extremes<Real> transitions;    // of the shared transitions
    Real edge_range;               // the larger range of start and end
    bool forbidden;                // some start or end is −∞
    bool too_large;                // for exp space
    Real *start, *end;             // [S] exp(score)·2^−K
    Real *start_allowed, *end_allowed;  // [S] 1 or 0
    const PairTables* pairs;       // null where the transitions are matrices
    Real *into, *out_of;           // [L, S] E = exp(T)·2^−K and its transpose; or the cells of the tables of pairs
    Real *into_columns, *out_of_columns;  // [pairs] E in the order of the tables' columns, where sentences go abreast
    Real *may_enter, *may_leave;   // [L, S] 1 or 0, and its transpose; only where some transition of a matrix is forbidden
    Real *table, *table_power;     // [rows, S] exp(score)·2^−K of the rows that symbols name, and [rows] K
    Spread<Real> *row_spreads;     // [rows]
    Spread<Real> table_spread;     // of all of them
};

constexpr size_t kSharedHeader = 256;
static_assert(sizeof(SumShared<double>) <= kSharedHeader);

// The numbers in the columns of a table, in whole vectors; none where sentences do not go abreast.
template <class Real>
inline int64_t column_cells(const PairTables& pairs) {
    return go_abreast(pairs) ? padded<Real>(pairs.legal->count) : 0;
}

template <class Real>
size_t sum_shared_size(int64_t L, int64_t rows, const PairTables* pairs) {
    const size_t S = size_t(padded<Real>(L));
    const size_t cells = pairs ? size_t(pair_cells<Real>(pairs->into) + pair_cells<Real>(pairs->out_of) +
                                        2 * column_cells<Real>(*pairs))
                               : 4 * size_t(L) * S;
    return kSharedHeader + 64 + sizeof(Real) * (4 * S + cells) +
           size_t(rows) * (sizeof(Real) * (S + 1) + sizeof(Spread<Real>));
}

// The rows that symbols name, at `memory`.
template <class Real>
void prepare_table(const Scores<Real>& common, SumShared<Real>& shared, Real* memory) {
    const int64_t L = common.L, S = padded<Real>(L), rows = common.rows;
    shared.table = memory;
    shared.table_power = memory + rows * S;
    shared.row_spreads = reinterpret_cast<Spread<Real>*>(shared.table_power + rows);
    Spread<Real>& all = shared.table_spread;
    all = {0, false, false};
    for (int64_t v = 0; v < rows; ++v) {
        const Spread<Real> row =
            exp_rows(common.emissions + v * L, 1, L, S, shared.table + v * S, shared.table_power + v);
        shared.row_spreads[v] = row;
        all = {larger_of(all.range, row.range), all.forbidden || row.forbidden, all.too_large || row.too_large};
    }
}

// The extremes of the legal transitions, and E = exp(T)·2^−K of them by previous and by next label.
template <class Real>
void prepare_pairs(const Scores<Real>& common, SumShared<Real>& shared) {
    const int64_t L = common.L;
    const PairTables& pairs = *shared.pairs;
    fill_cells(pairs.into, shared.into, [&](int32_t i, int32_t j) { return common.transitions[i * L + j]; });
    fill_cells(pairs.out_of, shared.out_of, [&](int32_t j, int32_t i) { return common.transitions[i * L + j]; });
    const int64_t into = pair_cells<Real>(pairs.into), out_of = pair_cells<Real>(pairs.out_of);
    shared.transitions = extremes_of(shared.into, into);
    shared.transitions.forbidden = pairs.legal->count < L * L;
    shared.transition_power = shared.transitions.power();
    const Powers<Real> powers(shared.transition_power);
    constexpr int W = Lanes<Real>::width;
    for (int64_t n = 0; n * W < into; ++n) at(shared.into, n) = powers.exp(at(shared.into, n));
    for (int64_t n = 0; n * W < out_of; ++n) at(shared.out_of, n) = powers.exp(at(shared.out_of, n));
    if (!go_abreast(pairs)) return;
    for (int64_t k = 0; k < pairs.legal->count; ++k) {
        shared.into_columns[k] = shared.into[pairs.into.by_column.places[k]];
        shared.out_of_columns[k] = shared.out_of[pairs.out_of.by_column.places[k]];
    }
}

template <class Real>
void sum_prepare(const Scores<Real>& common, const PairTables* pairs, void* memory) {
    const int64_t L = common.L, S = padded<Real>(L);
    auto& shared = *static_cast<SumShared<Real>*>(memory);
    shared.pairs = pairs;
    Real* next = reinterpret_cast<Real*>(static_cast<char*>(memory) + kSharedHeader);
    Real** const rows[] = {&shared.start, &shared.end, &shared.start_allowed, &shared.end_allowed};
    for (Real** row : rows) {
        *row = next;
        next += S;
    }
    if (pairs) {
        shared.into = next;
        shared.out_of = next + pair_cells<Real>(pairs->into);
        shared.into_columns = shared.out_of + pair_cells<Real>(pairs->out_of);
        shared.out_of_columns = shared.into_columns + column_cells<Real>(*pairs);
        next = shared.out_of_columns + column_cells<Real>(*pairs);
    } else {
        Real** const matrices[] = {&shared.into, &shared.out_of, &shared.may_enter, &shared.may_leave};
        for (Real** matrix : matrices) {
            *matrix = next;
            next += L * S;
        }
    }
    prepare_table(common, shared, next);
    const Extremes<Real> start = extremes_of(common.start, L), end = extremes_of(common.end, L);
    shared.start_power = start.power();
    shared.end_power = end.power();
    shared.too_large = start.too_large() || end.too_large();
    shared.edge_range = start.range() > end.range() ? start.range() : end.range();
    shared.forbidden = start.forbidden || end.forbidden;
    const Real inf = __builtin_inf();
    const Powers<Real> first_powers(shared.start_power), last_powers(shared.end_power);
    for (int64_t n = 0; n * Lanes<Real>::width < S; ++n) {
        const Vec<Real> first = load_row(common.start, n, L, -inf), last = load_row(common.end, n, L, -inf);
        at(shared.start, n) = first_powers.exp(first);
        at(shared.end, n) = last_powers.exp(last);
        at(shared.start_allowed, n) = first > -inf ? splat(Real(1)) : Vec<Real>{};
        at(shared.end_allowed, n) = last > -inf ? splat(Real(1)) : Vec<Real>{};
    }
    if (common.per_position) return;
    if (pairs) {
        prepare_pairs(common, shared);
        shared.too_large |= shared.transitions.too_large();
        return;
    }
    shared.transitions = extremes_of(common.transitions, L * L);
    shared.transition_power = shared.transitions.power();
    shared.too_large |= shared.transitions.too_large();
    exp_matrix(common.transitions, shared.transition_power, L, S, shared.into);
    transpose(shared.into, L, S, shared.out_of);
    if (!shared.transitions.forbidden) return;
    allowed_matrix(common.transitions, L, S, shared.may_enter);
    transpose(shared.may_enter, L, S, shared.may_leave);
}

// The labels that a recursion can have reached, carried as 1 and 0; a set that repeats itself costs no product.
template <class Real>
struct Reach {
    Real* now;     // [S]
    Real* source;  // [S] the set that `next` comes from
    Real* next;    // [S] source · allowed: positive where a label of the next token can be reached

    // now := the labels where both rows are positive.
    void enter(const Real* left, const Real* right, int64_t S) {
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
            at(now, n) = ((at(left, n) > 0) & (at(right, n) > 0)) ? splat(Real(1)) : Vec<Real>{};
    }

    bool unchanged(int64_t S) const {
        Vec<Real> difference{};
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n) {
            const Vec<Real> d = at(now, n) - at(source, n);
            difference += d * d;
        }
        return largest_of(difference) == 0;
    }

    void step(const Real* allowed, int64_t L, int64_t S) {
        const Real* from = now;
        multiply<SumProduct, 1>(&from, allowed, L, S, [&](int, int64_t n, Vec<Real> lanes) { at(next, n) = lanes; });
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n) at(source, n) = at(now, n);
    }

    void step(const PairTable& allowed, int64_t S) {
        follow_pairs(allowed, now, S, next);
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n) at(source, n) = at(now, n);
    }
};
