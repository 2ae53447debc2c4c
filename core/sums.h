// Sums over all labellings of one sentence: log Z, marginals, expected counts, entropy. Included by kernels.cpp.
//
// Exp space. With E = exp(T − max T) and x_t = exp(e_t − max e_t),
//     α_t = (α_(t−1) E ⊙ x_t) 2^(−k_t)       β_(t−1) = (E (x_t ⊙ β_t)) 2^(−k'_t)
// where k is the exponent of the maximum one step earlier, so that the rescale is exact and off the critical path.
// log Z = log Σ α_h β_h + ln 2 Σ k + Σ maxima, in float64, taken at the middle token h: for log Z alone, α runs from
// the front and β from the back, two independent recursions that the processor overlaps.
//
// Guard. Where all scores are finite and the scores of a step span less than kFiniteRange, nothing that matters can
// underflow. Otherwise the set of reachable labels is carried along by the same recursion, and a reachable label that
// falls below kLeastLabel of the maximum makes the kernel return Status::guard: mass in labels that do not mix can
// vanish and matter again later, with log Z finite all the while.

template <class Real>
struct Limits;

template <>
struct Limits<float> {
    static constexpr float kFiniteRange = 60;     // nats: products stay above 2^-87
    static constexpr float kEmissionRange = 80;   // nats: a finite emission has x > 0
    static constexpr float kLeastLabel = 0x1p-48f;
    static constexpr float kLeastMaximum = 0x1p-64f;  // of a step, before its rescale
    static constexpr double kLeastMass = 0x1p-100;    // Σ over an edge, before the rescale
};

template <>
struct Limits<double> {
    static constexpr double kFiniteRange = 480;
    static constexpr double kEmissionRange = 690;
    static constexpr double kLeastLabel = 0x1p-400;
    static constexpr double kLeastMaximum = 0x1p-500;
    static constexpr double kLeastMass = 0x1p-900;
};

constexpr double kLn2 = 0.693147180559945309417;
constexpr int64_t kTokensBetweenPolls = 256;
constexpr int64_t kTokensBetweenFlushes = 64;

// Largest value, smallest finite value and whether −∞ occurs, of n numbers.
template <class Real>
struct Span {
    Real high, low;
    bool forbidden;
    Real range() const { return high >= low ? high - low : Real(0); }
};

template <class Real>
inline Span<Real> span_of(const Real* values, int64_t n) {
    constexpr Real inf = __builtin_inf();
    constexpr int W = Lanes<Real>::width;
    Vec<Real> high = splat(-inf), low = splat(inf);
    for (int64_t k = 0; k * W < n; ++k) {
        const Vec<Real> v = load_row(values, k, n, values[0]);
        high = larger(high, v);
        low = smaller(low, v);
    }
    const Real least = smallest_of(low);
    if (least > -inf) return {largest_of(high), least, false};
    for (int64_t k = 0; k * W < n; ++k) {
        const Vec<Real> v = load_row(values, k, n, values[0]);
        low = k == 0 ? splat(inf) : low;
        low = smaller(low, v > -inf ? v : splat(inf));
    }
    return {largest_of(high), smallest_of(low), true};
}

template <class Real>
inline Real largest_in(const Real* values, int64_t n) {
    constexpr int W = Lanes<Real>::width;
    Vec<Real> high = load_row(values, 0, n, values[0]);
    for (int64_t k = 1; k * W < n; ++k) high = larger(high, load_row(values, k, n, values[0]));
    return largest_of(high);
}

// A power of two by its exponent, and the exponent of a positive normal number.
inline float power_of_two(int k, float) { return __builtin_bit_cast(float, uint32_t(k + 127) << 23); }
inline double power_of_two(int k, double) { return __builtin_bit_cast(double, uint64_t(k + 1023) << 52); }
inline int exponent_of(float v) { return int(__builtin_bit_cast(uint32_t, v) >> 23) - 127; }
inline int exponent_of(double v) { return int(__builtin_bit_cast(uint64_t, v) >> 52) - 1023; }

template <class Real>
inline int64_t padded(int64_t L) {
    constexpr int W = Lanes<Real>::width;
    return (L + W - 1) / W * W;
}

template <class T>
inline T* take(Arena& arena, int64_t count) {
    return static_cast<T*>(arena.take(size_t(count), sizeof(T)));
}

// out[i][j] = exp(scores[i][j] − high) in padded rows.
template <class Real>
inline void exp_matrix(const Real* scores, Real high, int64_t L, int64_t S, Real* out) {
    for (int64_t i = 0; i < L; ++i)
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
            at(out + i * S, n) = exp_difference(load_row(scores + i * L, n, L, Real(-__builtin_inf())), high);
}

// out[i][j] = 1 where scores[i][j] is allowed, 0 where it is forbidden or padding.
template <class Real>
inline void allowed_matrix(const Real* scores, int64_t L, int64_t S, Real* out) {
    constexpr Real inf = __builtin_inf();
    for (int64_t i = 0; i < L; ++i)
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
            at(out + i * S, n) = load_row(scores + i * L, n, L, -inf) > -inf ? splat(Real(1)) : Vec<Real>{};
}

template <class Real>
inline void transpose(const Real* from, int64_t L, int64_t S, Real* to) {
    for (int64_t i = 0; i < L; ++i) {
        for (int64_t j = 0; j < L; ++j) to[i * S + j] = from[j * S + i];
        for (int64_t j = L; j < S; ++j) to[i * S + j] = 0;
    }
}

template <class Real>
inline Real finite_or_zero(Real score) {
    return score > Real(-__builtin_inf()) ? score : Real(0);
}

// What the sentences of a batch have in common.
template <class Real>
struct SumShared {
    double start_high, end_high;
    Span<Real> moves;              // of the shared transitions
    Real edge_range;               // the larger range of start and end
    bool forbidden;                // some start or end is −∞
    Real *start, *end;             // [S] exp(score − its maximum)
    Real *start_allowed, *end_allowed;  // [S] 1 or 0
    Real *into, *out_of;           // [L, S] E and its transpose
    Real *may_enter, *may_leave;   // [L, S] 1 or 0, and its transpose; only where some transition is forbidden
};

constexpr size_t kSharedHeader = 256;
static_assert(sizeof(SumShared<double>) <= kSharedHeader);

template <class Real>
size_t sum_shared_size(int64_t L) {
    const size_t S = size_t(padded<Real>(L));
    return kSharedHeader + 64 + sizeof(Real) * (4 * S + 4 * size_t(L) * S);
}

template <class Real>
void sum_prepare(const Scores<Real>& common, void* memory) {
    const int64_t L = common.L, S = padded<Real>(L);
    auto& shared = *static_cast<SumShared<Real>*>(memory);
    Real* next = reinterpret_cast<Real*>(static_cast<char*>(memory) + kSharedHeader);
    Real** const rows[] = {&shared.start, &shared.end, &shared.start_allowed, &shared.end_allowed};
    for (Real** row : rows) {
        *row = next;
        next += S;
    }
    Real** const matrices[] = {&shared.into, &shared.out_of, &shared.may_enter, &shared.may_leave};
    for (Real** matrix : matrices) {
        *matrix = next;
        next += L * S;
    }
    const Span<Real> start = span_of(common.start, L), end = span_of(common.end, L);
    const Real start_high = finite_or_zero(start.high), end_high = finite_or_zero(end.high);
    shared.start_high = start_high;
    shared.end_high = end_high;
    shared.edge_range = start.range() > end.range() ? start.range() : end.range();
    shared.forbidden = start.forbidden || end.forbidden;
    const Real inf = __builtin_inf();
    for (int64_t n = 0; n * Lanes<Real>::width < S; ++n) {
        const Vec<Real> first = load_row(common.start, n, L, -inf), last = load_row(common.end, n, L, -inf);
        at(shared.start, n) = exp_difference(first, start_high);
        at(shared.end, n) = exp_difference(last, end_high);
        at(shared.start_allowed, n) = first > -inf ? splat(Real(1)) : Vec<Real>{};
        at(shared.end_allowed, n) = last > -inf ? splat(Real(1)) : Vec<Real>{};
    }
    if (common.per_position) return;
    shared.moves = span_of(common.transitions, L * L);
    exp_matrix(common.transitions, finite_or_zero(shared.moves.high), L, S, shared.into);
    transpose(shared.into, L, S, shared.out_of);
    if (!shared.moves.forbidden) return;
    allowed_matrix(common.transitions, L, S, shared.may_enter);
    transpose(shared.may_enter, L, S, shared.may_leave);
}

// The labels that a recursion can have reached, carried as 1 and 0; a set that repeats itself costs no product.
template <class Real>
struct Reach {
    Real* now;     // [S]
    Real* source;  // [S] the set that `moved` comes from
    Real* moved;   // [S] source · allowed: positive where the next token can be reached

    // now := the labels where both rows are positive.
    void enter(const Real* left, const Real* right, int64_t S) {
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n)
            at(now, n) = (at(left, n) > 0) & (at(right, n) > 0) ? splat(Real(1)) : Vec<Real>{};
    }

    bool unchanged(int64_t S) const {
        Vec<Real> difference{};
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n) {
            const Vec<Real> d = at(now, n) - at(source, n);
            difference += d * d;
        }
        return largest_of(difference) == 0;
    }

    void move(const Real* allowed, int64_t L, int64_t S) {
        const Real* from = now;
        multiply<SumProduct, 1>(&from, allowed, L, S, [&](int, int64_t n, Vec<Real> lanes) { at(moved, n) = lanes; });
        for (int64_t n = 0; n * Lanes<Real>::width < S; ++n) at(source, n) = at(now, n);
    }
};

template <class Real>
class Lattice {
public:
    Lattice(const Scores<Real>& sentence, const SumShared<Real>& shared, Arena& scratch, const int* stop)
        : s(sentence), shared(shared), scratch(scratch), stop(stop), T(s.T), L(s.L), S(padded<Real>(L)),
          vectors(S / Lanes<Real>::width) {}

    // The steps of α and of β that the answers need.
    int64_t alpha_steps, beta_steps;
    Status status = Status::done;

    void begin(const Answers<Real>& want) {
        const bool all = asks_for_all(want);
        const int64_t middle = T / 2;
        alpha_steps = all || want.log_alpha ? T - 1 : want.log_z ? middle : 0;
        beta_steps = T - 1 - (all || want.log_beta ? 0 : want.log_z ? middle : T - 1);
        take_memory();
        if ((want.entropy && s.per_position) || !exponentiate()) {
            status = Status::guard;
            guarded = false;
        }
        begin_alpha();
        begin_beta();
    }

    void finish(const Answers<Real>& want) {
        if (status != Status::done) return;
        if (want.log_z) {
            const double z = log_z(T / 2);
            if (!(z > -__builtin_inf())) {
                status = Status::guard;
                return;
            }
            *want.log_z = z;
        }
        if constexpr (sizeof(Real) == 8) write_tables(want);
        if (asks_for_all(want)) status = write_posterior(want);
    }

    // One step of α, to the same token of kCount sentences, and one of β.
    template <int kCount>
    static void step_alpha(Lattice* const* group, int64_t t) {
        const int64_t L = group[0]->L, S = group[0]->S;
        const Real* before[kCount];
        const Real* emitted[kCount];
        Real* row[kCount];
        Vec<Real> scale[kCount], high[kCount];
        for (int g = 0; g < kCount; ++g) {
            Lattice& one = *group[g];
            before[g] = one.alpha + (t - 1) * S;
            emitted[g] = one.x + t * S;
            row[g] = one.alpha + t * S;
            one.alpha_exponent[t] = exponent_of(one.alpha_largest);
            scale[g] = splat(power_of_two(-one.alpha_exponent[t], Real()));
            high[g] = Vec<Real>{};
        }
        multiply<SumProduct, kCount>(before, group[0]->into(t), L, S, [&](int g, int64_t n, Vec<Real> lanes) {
            at(row[g], n) = lanes * (at(emitted[g], n) * scale[g]);
            high[g] = larger(high[g], at(row[g], n));
        });
        for (int g = 0; g < kCount; ++g) group[g]->end_alpha(t, largest_of(high[g]));
    }

    template <int kCount>
    static void step_beta(Lattice* const* group, int64_t k) {
        const int64_t L = group[0]->L, S = group[0]->S;
        const Real* weighed[kCount];
        Real* row[kCount];
        Vec<Real> high[kCount];
        for (int g = 0; g < kCount; ++g) {
            Lattice& one = *group[g];
            weighed[g] = one.weigh_beta(one.T - 2 - k);
            row[g] = one.beta + (one.T - 2 - k) * S;
            high[g] = Vec<Real>{};
        }
        if (group[0]->s.per_position) {
            high[0] = group[0]->rows_times_w(group[0]->into(group[0]->T - 1 - k), row[0]);
        } else {
            multiply<SumProduct, kCount>(weighed, group[0]->shared.out_of, L, S,
                                         [&](int g, int64_t n, Vec<Real> lanes) {
                                             at(row[g], n) = lanes;
                                             high[g] = larger(high[g], lanes);
                                         });
        }
        for (int g = 0; g < kCount; ++g) group[g]->end_beta(group[g]->T - 2 - k, largest_of(high[g]));
    }

private:
    const Scores<Real>& s;
    const SumShared<Real>& shared;
    Arena& scratch;
    const int* stop;
    const int64_t T, L, S, vectors;

    Real *x, *alpha, *beta;  // [T, S]; write_posterior turns β_t into w_t = x_t ⊙ β_t · edge_share_t
    double *emission_high;   // [T] max e_t
    double *move_high;       // [T] max of the transitions into t; only per position
    int *alpha_exponent, *beta_exponent;  // [T] k_t
    Real *matrix = nullptr, *allowed = nullptr;  // [L, S], made where they are needed
    Real *w, *now, *before;  // [S]: w_t in the recursion; P(y_t) and P(y_(t−1)) in the posterior
    Real *token_share, *edge_share;  // [T] 1 / Σ α_t β_t, and 1 / Σ over the edge into t
    Real alpha_largest, beta_largest;
    bool guarded;
    Reach<Real> ahead, behind;

    void take_memory() {
        x = take<Real>(scratch, T * S);
        alpha = take<Real>(scratch, T * S);
        beta = take<Real>(scratch, T * S);
        emission_high = take<double>(scratch, T);
        alpha_exponent = take<int>(scratch, T);
        beta_exponent = take<int>(scratch, T);
        token_share = take<Real>(scratch, T);
        edge_share = take<Real>(scratch, T);
        w = take<Real>(scratch, S);
        now = take<Real>(scratch, S);
        before = take<Real>(scratch, S);
        if (s.per_position) {
            move_high = take<double>(scratch, T);
            matrix = take<Real>(scratch, L * S);
            allowed = take<Real>(scratch, L * S);
        }
        Reach<Real>* const both[] = {&ahead, &behind};
        for (Reach<Real>* reach : both) {
            reach->now = take<Real>(scratch, S);
            reach->source = take<Real>(scratch, S);
            reach->moved = take<Real>(scratch, S);
            for (int64_t n = 0; n < vectors; ++n) at(reach->source, n) = splat(Real(-1));  // no set yet
        }
    }

    bool stopped() const { return __atomic_load_n(stop, __ATOMIC_RELAXED) != 0; }

    // Fill x and decide whether reachable labels must be watched; false where a finite emission would underflow.
    bool exponentiate() {
        Vec<Real> lowest{};  // of e_t − max e_t
        Vec<Real> real_lanes;  // 1 for the labels in a row's last vector, 0 for its padding
        for (int k = 0; k < Lanes<Real>::width; ++k) real_lanes[k] = S - Lanes<Real>::width + k < L;
        const int64_t labels = L, last = vectors - 1;
        const Real* row = s.emissions;
        Real* out = x;
        for (int64_t t = 0; t < T; ++t, row += labels, out += S) {
            const Real high = finite_or_zero(largest_in(row, labels));
            emission_high[t] = high;
            for (int64_t n = 0; n <= last; ++n) {
                const Vec<Real> e = load_row(row, n, labels, high), power = exp_difference(e, high);
                lowest = smaller(lowest, e - high);
                at(out, n) = n == last ? power * real_lanes : power;
            }
        }
        Span<Real> emitted{0, smallest_of(lowest), false};
        if (!(emitted.low > Real(-__builtin_inf()))) emitted = finite_emissions();
        Real widest_move = s.per_position ? Real(0) : shared.moves.range();
        bool forbidden = emitted.forbidden || shared.forbidden || (!s.per_position && shared.moves.forbidden);
        for (int64_t t = 1; s.per_position && t < T; ++t) {
            const Span<Real> span = span_of(s.transitions + t * L * L, L * L);
            move_high[t] = finite_or_zero(span.high);
            forbidden |= span.forbidden;
            if (span.range() > widest_move) widest_move = span.range();
        }
        const Real moves = widest_move > shared.edge_range ? widest_move : shared.edge_range;
        guarded = forbidden || !(emitted.range() + moves <= Limits<Real>::kFiniteRange);
        return emitted.range() <= Limits<Real>::kEmissionRange && shared.edge_range <= Limits<Real>::kEmissionRange;
    }

    // The widest span of a token's emissions where some of them are forbidden.
    Span<Real> finite_emissions() const {
        Span<Real> widest{0, 0, true};
        for (int64_t t = 0; t < T; ++t) {
            const Real range = span_of(s.emissions + t * L, L).range();
            if (-range < widest.low) widest.low = -range;
        }
        return widest;
    }

    // The matrices into token t; computed anew where they depend on it.
    const Real* into(int64_t t) {
        if (!s.per_position) return shared.into;
        exp_matrix(s.transitions + t * L * L, Real(move_high[t]), L, S, matrix);
        return matrix;
    }

    const Real* may_enter(int64_t t) {
        if (!s.per_position && shared.moves.forbidden) return shared.may_enter;
        allowed_into(t);
        return allowed;
    }

    const Real* may_leave(int64_t t) {
        if (!s.per_position && shared.moves.forbidden) return shared.may_leave;
        allowed_into(t);
        if (!s.per_position) return allowed;
        for (int64_t i = 0; i < L; ++i)
            for (int64_t j = i + 1; j < L; ++j) {
                const Real cell = allowed[i * S + j];
                allowed[i * S + j] = allowed[j * S + i];
                allowed[j * S + i] = cell;
            }
        return allowed;
    }

    void allowed_into(int64_t t) {
        if (!s.per_position) {  // nothing is forbidden between tokens: every label leads to every other
            if (allowed) return;
            allowed = take<Real>(scratch, L * S);
            for (int64_t i = 0; i < L; ++i)
                for (int64_t j = 0; j < S; ++j) allowed[i * S + j] = j < L;
            return;
        }
        allowed_matrix(s.transitions + t * L * L, L, S, allowed);
    }

    static bool asks_for_all(const Answers<Real>& want) {
        return want.nodes || want.edges || want.transition_counts || want.start_counts || want.entropy;
    }

    void begin_alpha() {
        Vec<Real> high{};
        for (int64_t n = 0; n < vectors; ++n) high = larger(high, at(alpha, n) = at(shared.start, n) * at(x, n));
        alpha_exponent[0] = 0;
        if (guarded) ahead.enter(shared.start_allowed, x, S);
        settle(alpha, largest_of(high), alpha_exponent[0], alpha_largest, ahead);
    }

    void end_alpha(int64_t t, Real high) {
        if (guarded) {
            if (s.per_position || !ahead.unchanged(S)) ahead.move(may_enter(t), L, S);
            ahead.enter(ahead.moved, x + t * S, S);
        }
        settle(alpha + t * S, high, alpha_exponent[t], alpha_largest, ahead);
    }

    void begin_beta() {
        Vec<Real> high{};
        Real* last = beta + (T - 1) * S;
        for (int64_t n = 0; n < vectors; ++n) high = larger(high, at(last, n) = at(shared.end, n));
        beta_exponent[T - 1] = 0;
        if (guarded) behind.enter(shared.end_allowed, shared.end_allowed, S);
        settle(last, largest_of(high), beta_exponent[T - 1], beta_largest, behind);
    }

    // w = x_(t+1) ⊙ β_(t+1), rescaled: the vector whose product is β_t.
    const Real* weigh_beta(int64_t t) {
        beta_exponent[t] = exponent_of(beta_largest);
        const Vec<Real> scale = splat(power_of_two(-beta_exponent[t], Real()));
        for (int64_t n = 0; n < vectors; ++n)
            at(w, n) = at(x + (t + 1) * S, n) * at(beta + (t + 1) * S, n) * scale;
        return w;
    }

    void end_beta(int64_t t, Real high) {
        if (guarded) {
            behind.enter(behind.now, x + (t + 1) * S, S);
            if (s.per_position || !behind.unchanged(S)) behind.move(may_leave(t + 1), L, S);
            behind.enter(behind.moved, behind.moved, S);
        }
        settle(beta + t * S, high, beta_exponent[t], beta_largest, behind);
    }

    // row[i] = Σ_j E[i][j] w[j]: a dot product a label, where no transposed matrix is at hand.
    Vec<Real> rows_times_w(const Real* rows, Real* row) {
        Vec<Real> high{};
        for (int64_t i = 0; i < S; ++i) {
            Vec<Real> sum{};
            for (int64_t n = 0; i < L && n < vectors; ++n) sum += at(rows + i * S, n) * at(w, n);
            row[i] = sum_of(sum);
        }
        for (int64_t n = 0; n < vectors; ++n) high = larger(high, at(row, n));
        return high;
    }

    // Bring a row that fell far down back to size at once, and check what the guard asks for. A sentence that fails
    // goes along with its group to the end, its numbers no longer looked at.
    void settle(Real* row, Real high, int& exponent, Real& largest, const Reach<Real>& reach) {
        if (!(high >= Real(0x1p-16))) {
            if (!(high >= Limits<Real>::kLeastMaximum)) {
                status = Status::guard;
                largest = 1;
                return;
            }
            const int k = exponent_of(high);
            const Vec<Real> scale = splat(power_of_two(-k, Real()));
            for (int64_t n = 0; n < vectors; ++n) at(row, n) *= scale;
            exponent += k;
            high *= scale[0];
        }
        largest = high;
        if (!guarded) return;
        Vec<Real> low = splat(high);
        for (int64_t n = 0; n < vectors; ++n) low = smaller(low, at(reach.now, n) > 0 ? at(row, n) : splat(high));
        if (!(smallest_of(low) >= high * Limits<Real>::kLeastLabel)) status = Status::guard;
    }

    double mass(int64_t t) const {
        Vec<Real> sum{};
        for (int64_t n = 0; n < vectors; ++n) sum += at(alpha + t * S, n) * at(beta + t * S, n);
        return sum_of(sum);
    }

    double log_z(int64_t middle) const {
        const double at_middle = mass(middle);
        if (!(at_middle >= Limits<Real>::kLeastMass)) return -__builtin_inf();
        int64_t exponent = 0;
        for (int64_t t = 0; t <= middle; ++t) exponent += alpha_exponent[t];
        for (int64_t t = middle; t < T; ++t) exponent += beta_exponent[t];
        double maxima = shared.start_high + shared.end_high;
        for (int64_t t = 0; t < T; ++t) maxima += emission_high[t] + (t ? high_into(t) : 0.0);
        return __builtin_log(at_middle) + double(exponent) * kLn2 + maxima;
    }

    double high_into(int64_t t) const {
        return s.per_position ? move_high[t] : double(finite_or_zero(shared.moves.high));
    }

    void write_tables(const Answers<Real>& want) const {
        if (want.log_alpha) {
            double base = shared.start_high;
            int64_t exponent = 0;
            for (int64_t t = 0; t < T; ++t) {
                exponent += alpha_exponent[t];
                base += emission_high[t] + (t ? high_into(t) : 0.0);
                const double offset = base + double(exponent) * kLn2;
                for (int64_t j = 0; j < L; ++j)
                    want.log_alpha[t * L + j] = __builtin_log(double(alpha[t * S + j])) + offset;
            }
        }
        if (want.log_beta) {
            double base = shared.end_high;
            int64_t exponent = 0;
            for (int64_t t = T - 1; t >= 0; --t) {
                exponent += beta_exponent[t];
                if (t < T - 1) base += emission_high[t + 1] + high_into(t + 1);
                const double offset = base + double(exponent) * kLn2;
                for (int64_t j = 0; j < L; ++j)
                    want.log_beta[t * L + j] = __builtin_log(double(beta[t * S + j])) + offset;
            }
        }
    }

    Status write_posterior(const Answers<Real>& want) {
        if (!weigh()) return Status::guard;  // nothing is written or added to before this
        double surprise = 0;  // Σ over edges of −Σ p log p, less that of inner nodes
        const Real* weighed = nullptr;
        if constexpr (sizeof(Real) == 8)
            if (want.entropy) weighed = weighed_transitions();
        for (int64_t t = 0; t < T; ++t) {
            for (int64_t n = 0; n < vectors; ++n) {
                const Vec<Real> p = at(alpha + t * S, n) * at(beta + t * S, n) * splat(token_share[t]);
                if (want.nodes) store_row(want.nodes + t * L, n, L, p);
                at(now, n) = p;
                at(beta + t * S, n) *= at(x + t * S, n) * splat(edge_share[t]);
            }
            if (t == 0 && want.start_counts) add_to(want.start_counts);
            if (t == T - 1 && want.end_counts) add_to(want.end_counts);
            if (want.edges) write_edges(t, want.edges + t * L * L);
            if constexpr (sizeof(Real) == 8)
                if (want.entropy) surprise += entropy_at(t, weighed);
            Real* spare = before;
            before = now;
            now = spare;
            if (t % kTokensBetweenPolls == kTokensBetweenPolls - 1 && stopped()) return Status::stopped;
        }
        if (want.transition_counts) add_transition_counts(want.transition_counts);
        if (want.entropy) *want.entropy = surprise > 0 ? surprise : 0;
        return Status::done;
    }

    // The factors that turn products of α and β into probabilities; false where one would be out of range.
    bool weigh() {
        for (int64_t t = 0; t < T; ++t) {
            const double c = mass(t), edge = c * power_of_two(alpha_exponent[t], double());
            if (!(c >= Limits<Real>::kLeastMass && (t == 0 || edge >= Limits<Real>::kLeastMass))) return false;
            token_share[t] = Real(1 / c);
            edge_share[t] = Real(1 / edge);
        }
        return true;
    }

    void add_to(double* counts) const {
        for (int64_t j = 0; j < L; ++j) counts[j] += double(now[j]);
    }

    // P(i, j) = α_(t−1)(i) E(i, j) w_t(j); beta + t·S holds w_t by now.
    void write_edges(int64_t t, Real* out) {
        if (t == 0) {
            for (int64_t k = 0; k < L * L; ++k) out[k] = 0;
            return;
        }
        const Real* E = into(t);
        for (int64_t i = 0; i < L; ++i) {
            const Vec<Real> left = splat(alpha[(t - 1) * S + i]);
            for (int64_t n = 0; n < vectors; ++n)
                store_row(out + i * L, n, L, left * at(beta + t * S, n) * at(E + i * S, n));
        }
    }

    // counts += E ⊙ Σ_t α_(t−1)ᵀ w_t: a product of matrices, summed in Real over a few tokens at a time.
    void add_transition_counts(double* counts) {
        for (int64_t first = 1; first < T; first += kTokensBetweenFlushes) {
            const int64_t last = first + kTokensBetweenFlushes < T ? first + kTokensBetweenFlushes : T;
            int64_t n = 0;
            for (; n + kTile <= vectors; n += kTile) add_column_tile<kTile>(counts, first, last, n);
            for (; n + 2 <= vectors; n += 2) add_column_tile<2>(counts, first, last, n);
            if (n < vectors) add_column_tile<1>(counts, first, last, n);
        }
    }

    template <int kVectors>
    void add_column_tile(double* counts, int64_t first, int64_t last, int64_t n) {
        int64_t i = 0;
        for (; i + 4 <= L; i += 4) add_tile<4, kVectors>(counts, first, last, i, n);
        for (; i < L; ++i) add_tile<1, kVectors>(counts, first, last, i, n);
    }

    template <int kRows, int kVectors>
    void add_tile(double* counts, int64_t first, int64_t last, int64_t i, int64_t n) {
        Vec<Real> sums[kRows][kVectors] = {};
        for (int64_t t = first; t < last; ++t) {
            const Real* left = alpha + (t - 1) * S + i;
            for (int r = 0; r < kRows; ++r) {
                const Vec<Real> u = splat(left[r]);
                for (int v = 0; v < kVectors; ++v) sums[r][v] += u * at(beta + t * S, n + v);
            }
        }
        constexpr int W = Lanes<Real>::width;
        for (int r = 0; r < kRows; ++r) {
            alignas(64) Real flat[kVectors * W];
            for (int v = 0; v < kVectors; ++v) at(flat, v) = sums[r][v];
            const int64_t left = L - n * W, count = left < kVectors * W ? left : kVectors * W;
            double* out = counts + (i + r) * L + n * W;
            const Real* factor = shared.into + (i + r) * S + n * W;
            for (int64_t k = 0; k < count; ++k) out[k] += double(flat[k]) * double(factor[k]);
        }
    }

    // [j][i] = E(i, j) (T(i, j) − max T), 0 where forbidden: with it Σ_ij p_ij T_ij is one more product.
    const Real* weighed_transitions() {
        Real* out = take<Real>(scratch, L * S);
        for (int64_t j = 0; j < L; ++j)
            for (int64_t i = 0; i < S; ++i) {
                const Real score = i < L ? s.transitions[i * L + j] - finite_or_zero(shared.moves.high) : Real(0);
                out[j * S + i] = i < L ? shared.into[i * S + j] * finite_or_zero(score) : Real(0);
            }
        return out;
    }

    static double times_log(double p, double value) { return p > 0 ? p * __builtin_log(value) : 0; }

    // What token t adds to the entropy: −Σ_ij p_ij log p_ij of the edge into t, with
    // log p_ij = log α_(t−1)(i) + (T_ij − max T) + log w_t(j), less −Σ_j p_j log p_j if t is inner.
    double entropy_at(int64_t t, const Real* weighed) const {
        double own = 0;  // Σ p log p of this token
        for (int64_t j = 0; j < L; ++j) own += times_log(now[j], now[j]);
        if (T == 1) return -own;
        double total = t > 0 && t < T - 1 ? own : 0;
        if (t == 0) return total;
        const Real *left = alpha + (t - 1) * S, *right = beta + t * S;  // α_(t−1), w_t
        double expected = 0;
        multiply<SumProduct, 1>(&right, weighed, L, S, [&](int, int64_t n, Vec<Real> lanes) {
            expected += sum_of(lanes * at(left, n));
        });
        double logs = 0;
        for (int64_t j = 0; j < L; ++j) logs += times_log(now[j], right[j]) + times_log(before[j], left[j]);
        return total - logs - expected;
    }
};

// Run α to `alpha` steps and β to `beta` steps for the sentences that have so many: the front ones, longest first.
template <class Real, bool kAlpha>
void advance(Lattice<Real>* const* group, int count, int64_t k) {
    while (count > 0 && (kAlpha ? group[count - 1]->alpha_steps : group[count - 1]->beta_steps) <= k) --count;
    const auto step = [&]<int kCount>(Lattice<Real>* const* some) {
        if constexpr (kAlpha)
            Lattice<Real>::template step_alpha<kCount>(some, k + 1);
        else
            Lattice<Real>::template step_beta<kCount>(some, k);
    };
    if (count == 4) return step.template operator()<4>(group);
    if (count >= 2) step.template operator()<2>(group);
    if (count % 2) step.template operator()<1>(group + count - 1);
}

template <class Real>
void posterior(int count, const Scores<Real>* sentences, const void* memory, const Answers<Real>* want,
               Status* status, Arena& scratch, const int* stop) {
    const auto& shared = *static_cast<const SumShared<Real>*>(memory);
    if (count > 1 && sentences[0].per_position) {  // no matrix in common: one by one
        for (int g = 0; g < count; ++g) posterior(1, sentences + g, memory, want + g, status + g, scratch, stop);
        return;
    }
    Lattice<Real>* group[kGroup];
    for (int g = 0; g < count; ++g) {
        group[g] = new (take<Lattice<Real>>(scratch, 1)) Lattice<Real>(sentences[g], shared, scratch, stop);
        group[g]->begin(want[g]);
    }
    const auto stopped = [&](int64_t k) {
        return k % kTokensBetweenPolls == kTokensBetweenPolls - 1 && __atomic_load_n(stop, __ATOMIC_RELAXED);
    };
    bool gave_up = false;
    const int64_t forward = group[0]->alpha_steps, backward = group[0]->beta_steps;
    if (count == 1) {  // α and β of one sentence fill each other's latency
        for (int64_t k = 0; !gave_up && (k < forward || k < backward); ++k) {
            advance<Real, true>(group, 1, k);
            advance<Real, false>(group, 1, k);
            gave_up = stopped(k) || group[0]->status != Status::done;
        }
    } else {  // those of a group do so already, and one matrix fits the cache where two may not
        for (int64_t k = 0; !gave_up && k < forward; ++k) {
            advance<Real, true>(group, count, k);
            gave_up = stopped(k);
        }
        for (int64_t k = 0; !gave_up && k < backward; ++k) {
            advance<Real, false>(group, count, k);
            gave_up = stopped(k);
        }
    }
    const bool all_stopped = __atomic_load_n(stop, __ATOMIC_RELAXED);
    for (int g = 0; g < count; ++g) {
        if (!all_stopped) group[g]->finish(want[g]);
        status[g] = all_stopped ? Status::stopped : group[g]->status;
    }
}
