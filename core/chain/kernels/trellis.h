// The trellis of one sentence: α and β token by token, for several sentences at a time. forward_backward.h has the
// formulas and runs it. Included by kernels.cpp.

template <class Real>
struct Trellis {
    Trellis(const Scores<Real>& sentence, const SumShared<Real>& shared, Arena& scratch, const int* stop)
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
        if (want.entropy && s.per_position) {  // left to the log domain; such a sentence has no company
            status = Status::guard;
            alpha_steps = beta_steps = 0;
            return;
        }
        take_memory();
        if (!exponentiate()) status = Status::guard;
        begin_alpha();
        begin_beta();
    }

    // All of α for expected counts, see expected_counts.h.
    void begin_counting() {
        alpha_steps = T - 1;
        beta_steps = 0;
        lenient = true;
        take_memory();
        if (!exponentiate()) status = Status::guard;
        begin_alpha();
    }

    // One step of α, to the same token of kCount sentences, and one of β.
    template <int kCount, bool kPairs>
    static void step_alpha(Trellis* const* group, int64_t t) {
        const int64_t L = group[0]->L, S = group[0]->S;
        const Real* before[kCount];
        const Real* emitted[kCount];
        Real* row[kCount];
        Vec<Real> scale[kCount], high[kCount];
        for (int g = 0; g < kCount; ++g) {
            Trellis& trellis = *group[g];
            before[g] = trellis.alpha + (t - 1) * S;
            emitted[g] = trellis.x[t];
            row[g] = trellis.alpha + t * S;
            trellis.alpha_exponent[t] = exponent_of(trellis.alpha_largest);
            scale[g] = splat(power_of_two(-trellis.alpha_exponent[t], Real()));
            high[g] = Vec<Real>{};
        }
        const auto take_alpha = [&](int g, int64_t n, Vec<Real> lanes) TAGLINE_INLINED {
            at(row[g], n) = lanes * (at(emitted[g], n) * scale[g]);
            high[g] = larger(high[g], at(row[g], n));
        };
        if constexpr (kPairs) {
            const SumShared<Real>& shared = group[0]->shared;
            multiply_pairs<SumProduct, kCount>(before, shared.pairs->into, shared.into, Packed<kCount>(group).rows, L,
                                               S, take_alpha);
        } else {
            multiply<SumProduct, kCount>(before, group[0]->into(t), L, S, take_alpha);
        }
        for (int g = 0; g < kCount; ++g) group[g]->end_alpha(t, high[g]);
    }

    template <int kCount, bool kPairs>
    static void step_beta(Trellis* const* group, int64_t k) {
        const int64_t L = group[0]->L, S = group[0]->S;
        const Real* weighed[kCount];
        Real* row[kCount];
        Vec<Real> high[kCount];
        for (int g = 0; g < kCount; ++g) {
            Trellis& trellis = *group[g];
            weighed[g] = trellis.weigh_beta(trellis.T - 2 - k);
            row[g] = trellis.beta + (trellis.T - 2 - k) * S;
            high[g] = Vec<Real>{};
        }
        const auto take_beta = [&](int g, int64_t n, Vec<Real> lanes) TAGLINE_INLINED {
            at(row[g], n) = lanes;
            high[g] = larger(high[g], lanes);
        };
        const SumShared<Real>& shared = group[0]->shared;
        if constexpr (kPairs)
            multiply_pairs<SumProduct, kCount>(weighed, shared.pairs->out_of, shared.out_of,
                                               Packed<kCount>(group).rows, L, S, take_beta);
        else if (group[0]->s.per_position)
            high[0] = group[0]->rows_times_w(group[0]->into(group[0]->T - 1 - k), row[0]);
        else
            multiply<SumProduct, kCount>(weighed, shared.out_of, L, S, take_beta);
        for (int g = 0; g < kCount; ++g) group[g]->end_beta(group[g]->T - 2 - k, high[g]);
    }

    // Scratch of the sentences of a group, see multiply_pairs.
    template <int kCount>
    struct Packed {
        Real* rows[kCount];
        explicit Packed(Trellis* const* group) {
            for (int g = 0; g < kCount; ++g) rows[g] = group[g]->packed;
        }
    };

    const Scores<Real>& s;
    const SumShared<Real>& shared;
    Arena& scratch;
    const int* stop;
    const int64_t T, L, S, vectors;

    const Real** x;      // [T] rows of [S]
    Real *alpha, *beta;  // [T, S]
    Real *emission_power;    // [T] K of e_t
    Real *transition_power;        // [T] K of the transitions into t; only per position
    int *alpha_exponent, *beta_exponent;  // [T] k_t
    Real *matrix = nullptr, *allowed = nullptr;  // [L, S], made where they are needed
    Real* w;                 // [S] x_t ⊙ β_t in a step of β
    Real* packed = nullptr;  // [2 S] scratch, only with tables of pairs
    Real alpha_largest, beta_largest;
    bool guarded;
    bool lenient = false;  // labels may sink, see expected_counts.h
    bool faint = false;    // some emissions were raised to kFaint, see expected_counts.h
    Real transition_range;  // nats
    int64_t rest;     // steps from one rescale to the next: 1, 2, 4 or 8
    Reach<Real> ahead, behind;

    void take_memory() {
        x = take<const Real*>(scratch, T);
        alpha = take<Real>(scratch, T * S);
        beta = lenient ? nullptr : take<Real>(scratch, T * S);
        emission_power = take<Real>(scratch, T);
        alpha_exponent = take<int>(scratch, T);
        beta_exponent = take<int>(scratch, T);
        w = take<Real>(scratch, S);
        if (shared.pairs) packed = take<Real>(scratch, 2 * S);
        if (s.per_position) {
            transition_power = take<Real>(scratch, T);
            matrix = take<Real>(scratch, L * S);
            allowed = take<Real>(scratch, L * S);
        }
        Reach<Real>* const both[] = {&ahead, &behind};
        for (Reach<Real>* reach : both) {
            reach->now = take<Real>(scratch, S);
            reach->source = take<Real>(scratch, S);
            reach->next = take<Real>(scratch, S);
            for (int64_t n = 0; n < vectors; ++n) at(reach->source, n) = splat(Real(-1));  // no set yet
        }
    }

    bool stopped() const { return __atomic_load_n(stop, __ATOMIC_RELAXED) != 0; }

    // Fill x and decide whether reachable labels must be watched; false where exp space cannot hold the scores.
    bool exponentiate() {
        const Spread<Real> spread = s.symbols ? look_up() : exponentiate_rows();
        bool forbidden = shared.forbidden || spread.forbidden, too_large = shared.too_large || spread.too_large;
        faint = lenient && !spread.forbidden && !s.symbols && spread.range > ExpLimits<Real>::kEmissionRange;
        if (faint) raise_faint();
        const Real range = faint ? ExpLimits<Real>::kEmissionRange : spread.range;
        transition_range = s.per_position ? Real(0) : shared.transitions.range();
        if (!s.per_position) forbidden |= shared.transitions.forbidden;
        for (int64_t t = 1; s.per_position && t < T; ++t) {
            const Extremes<Real> extremes = extremes_of(s.transitions + t * L * L, L * L);
            transition_power[t] = extremes.power();
            forbidden |= extremes.forbidden;
            too_large |= extremes.too_large();
            transition_range = larger_of(transition_range, extremes.range());
        }
        transition_range = larger_of(transition_range, shared.edge_range);
        guarded = forbidden || !(range + transition_range <= ExpLimits<Real>::kFiniteRange);
        rest = guarded ? 1 : steps_without_rescale(range, transition_range, L);
        constexpr Real kMost = ExpLimits<Real>::kEmissionRange;
        return !too_large && range <= kMost && shared.edge_range <= kMost;
    }

    Spread<Real> exponentiate_rows() {
        Real* rows = take<Real>(scratch, T * S);
        for (int64_t t = 0; t < T; ++t) x[t] = rows + t * S;
        if constexpr (sizeof(Real) == 8)
            if (s.gaussians) return exp_densities(*s.gaussians, s.emissions, T, L, rows, emission_power, scratch);
        return exp_rows(s.emissions, T, L, S, rows, emission_power);
    }

    // Keep finite emissions above 0, see expected_counts.h.
    void raise_faint() {
        for (int64_t t = 0; t < T; ++t) {
            Real* row = const_cast<Real*>(x[t]);  // ours: exponentiate_rows took it
            for (int64_t j = 0; j < L; ++j) row[j] = larger_of(row[j], Real(kFaint));
        }
    }

    // Take the rows of the symbols. Their ranges are looked at one by one only where that of the whole table is too
    // wide.
    Spread<Real> look_up() {
        const auto row_of = [&](int64_t t) { return s.symbols[t] < 0 ? s.rows - 1 : s.symbols[t]; };
        for (int64_t t = 0; t < T; ++t) {
            x[t] = shared.table + row_of(t) * S;
            emission_power[t] = shared.table_power[row_of(t)];
        }
        const Spread<Real>& all = shared.table_spread;
        const Real step = all.range + shared.transitions.range();
        if (!all.forbidden && !all.too_large && step <= ExpLimits<Real>::kFiniteRange) return all;
        Spread<Real> own{0, false, false};
        for (int64_t t = 0; t < T; ++t) {
            const Spread<Real>& row = shared.row_spreads[row_of(t)];
            own = {larger_of(own.range, row.range), own.forbidden || row.forbidden, own.too_large || row.too_large};
        }
        return own;
    }

    // The matrices into token t; computed anew where they depend on it.
    const Real* into(int64_t t) {
        if (!s.per_position) return shared.into;
        exp_matrix(s.transitions + t * L * L, transition_power[t], L, S, matrix);
        return matrix;
    }

    const Real* may_enter(int64_t t) {
        if (!s.per_position && shared.transitions.forbidden) return shared.may_enter;
        allowed_into(t);
        return allowed;
    }

    const Real* may_leave(int64_t t) {
        if (!s.per_position && shared.transitions.forbidden) return shared.may_leave;
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
        for (int64_t n = 0; n < vectors; ++n) high = larger(high, at(alpha, n) = at(shared.start, n) * at(x[0], n));
        alpha_exponent[0] = 0;
        if (guarded) ahead.enter(shared.start_allowed, x[0], S);
        settle(alpha, largest_of(high), alpha_exponent[0], alpha_largest, ahead);
    }

    TAGLINE_INLINED void end_alpha(int64_t t, Vec<Real> high) {
        if ((t & (rest - 1)) != 0)
            alpha_largest = 1;
        else
            settle_alpha(t, high);
    }

    TAGLINE_APART void settle_alpha(int64_t t, Vec<Real> high) {
        if (guarded) {
            if (s.per_position || !ahead.unchanged(S)) {
                if (shared.pairs)
                    ahead.step(shared.pairs->into, S);
                else
                    ahead.step(may_enter(t), L, S);
            }
            ahead.enter(ahead.next, x[t], S);
        }
        settle(alpha + t * S, largest_of(high), alpha_exponent[t], alpha_largest, ahead);
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
            at(w, n) = at(x[t + 1], n) * at(beta + (t + 1) * S, n) * scale;
        return w;
    }

    TAGLINE_INLINED void end_beta(int64_t t, Vec<Real> high) {
        if (((T - 1 - t) & (rest - 1)) != 0)
            beta_largest = 1;
        else
            settle_beta(t, high);
    }

    TAGLINE_APART void settle_beta(int64_t t, Vec<Real> high) {
        if (guarded) {
            behind.enter(behind.now, x[t + 1], S);
            if (s.per_position || !behind.unchanged(S)) {
                if (shared.pairs)
                    behind.step(shared.pairs->out_of, S);
                else
                    behind.step(may_leave(t + 1), L, S);
            }
            behind.enter(behind.next, behind.next, S);
        }
        settle(beta + t * S, largest_of(high), beta_exponent[t], beta_largest, behind);
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
            if (!(high >= ExpLimits<Real>::kLeastMaximum)) {
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
        if constexpr (sizeof(Real) == 8)
            if (lenient) return keep_reachable(row, reach);
        Vec<Real> low = splat(high);
        for (int64_t n = 0; n < vectors; ++n) low = smaller(low, at(reach.now, n) > 0 ? at(row, n) : splat(high));
        if (!(smallest_of(low) >= high * ExpLimits<Real>::kLeastLabel)) status = Status::guard;
    }

    // Keep reachable labels above 0, see expected_counts.h.
    void keep_reachable(Real* row, const Reach<Real>& reach) const {
        for (int64_t n = 0; n < vectors; ++n)
            at(row, n) = at(reach.now, n) > 0 ? larger(at(row, n), splat(Real(kFloor))) : Vec<Real>{};
    }

    // Powers of two taken off α_t and its scores, up to token t − 1.
    int64_t powers_before(int64_t t) const {
        int64_t total = int64_t(shared.start_power);
        for (int64_t u = 0; u < t; ++u) total += alpha_exponent[u] + powers_at(u);
        return total;
    }

    // Powers of two taken off the scores at t: of its emissions and of the transitions into it.
    int64_t powers_at(int64_t t) const {
        const Real transitions = t == 0 ? Real(0) : s.per_position ? transition_power[t] : shared.transition_power;
        return int64_t(emission_power[t]) + int64_t(transitions);
    }
};
