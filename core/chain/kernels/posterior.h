// What is read off a trellis once α and β are there: log Z, tables of α and β, marginals, counts, entropy. Included by
// kernels.cpp.

constexpr int64_t kTokensBetweenFlushes = 64;

template <class Real>
class Posterior {
public:
    explicit Posterior(Trellis<Real>& trellis)
        : of(trellis), s(of.s), shared(of.shared), T(of.T), L(of.L), S(of.S), vectors(of.vectors), x(of.x),
          alpha(of.alpha), beta(of.beta) {}

    // The status of the sentence; nothing has been added to any sum unless it is done.
    Status write(const Answers<Real>& want) {
        if (of.status != Status::done) return of.status;
        if (want.log_z) {
            const double z = log_z(T / 2);
            if (!(z > -__builtin_inf())) return Status::guard;
            *want.log_z = z;
        }
        if constexpr (sizeof(Real) == 8) write_tables(want);
        return Trellis<Real>::asks_for_all(want) ? write_posterior(want) : Status::done;
    }

private:
    Trellis<Real>& of;
    const Scores<Real>& s;
    const SumShared<Real>& shared;
    const int64_t T, L, S, vectors;
    const Real* const* const x;
    Real *const alpha, *const beta;  // write_posterior turns β_t into w_t = x_t ⊙ β_t · edge_share_t
    Real *token_share, *edge_share;  // [T] 1 / Σ α_t β_t, and 1 / Σ over the edge into t
    Real *now, *before;              // [S] P(y_t) and P(y_(t−1))

    double mass(int64_t t) const {
        Vec<Real> sum{};
        for (int64_t n = 0; n < vectors; ++n) sum += at(alpha + t * S, n) * at(beta + t * S, n);
        return sum_of(sum);
    }

    double log_z(int64_t middle) const {
        const double at_middle = mass(middle);
        if (!(at_middle >= ExpLimits<Real>::kLeastMass)) return -__builtin_inf();
        int64_t exponent = 0;
        for (int64_t t = 0; t <= middle; ++t) exponent += of.alpha_exponent[t];
        for (int64_t t = middle; t < T; ++t) exponent += of.beta_exponent[t];
        exponent += int64_t(shared.start_power) + int64_t(shared.end_power);
        for (int64_t t = 0; t < T; ++t) exponent += of.powers_at(t);
        return log_of(at_middle, exponent);
    }

    void write_tables(const Answers<Real>& want) const {
        int64_t exponent = int64_t(shared.start_power);
        for (int64_t t = 0; want.log_alpha && t < T; ++t) {
            exponent += of.alpha_exponent[t] + of.powers_at(t);
            if (!want.rows || want.rows[t]) write_logs(alpha + t * S, exponent, want.log_alpha + t * L);
        }
        exponent = int64_t(shared.end_power);
        for (int64_t t = T - 1; want.log_beta && t >= 0; --t) {
            exponent += of.beta_exponent[t] + (t < T - 1 ? of.powers_at(t + 1) : 0);
            if (!want.rows || want.rows[t]) write_logs(beta + t * S, exponent, want.log_beta + t * L);
        }
    }

    void write_logs(const Real* row, int64_t exponent, double* out) const {
        for (int64_t j = 0; j < L; ++j) out[j] = __builtin_log(double(row[j])) + double(exponent) * kLn2;
    }

    Status write_posterior(const Answers<Real>& want) {
        token_share = take<Real>(of.scratch, T);
        edge_share = take<Real>(of.scratch, T);
        now = take<Real>(of.scratch, S);
        before = take<Real>(of.scratch, S);
        if (!weigh()) return Status::guard;
        double surprise = 0;  // Σ over edges of −Σ p log p, less that of inner nodes
        const Real* weighed = nullptr;
        if constexpr (sizeof(Real) == 8)
            if (want.entropy) weighed = weighed_transitions();
        for (int64_t t = 0; t < T; ++t) {
            for (int64_t n = 0; n < vectors; ++n) {
                const Vec<Real> p = at(alpha + t * S, n) * at(beta + t * S, n) * splat(token_share[t]);
                if (want.nodes) store_row(want.nodes + t * L, n, L, want.negative_nodes ? -p : p);
                at(now, n) = p;
                at(beta + t * S, n) *= at(x[t], n) * splat(edge_share[t]);
            }
            if (t == 0 && want.start_counts) add_to(want.start_counts);
            if (t == T - 1 && want.end_counts) add_to(want.end_counts);
            if (want.edges) write_edges(t, want.edges + t * L * L);
            if constexpr (sizeof(Real) == 8)
                if (want.entropy) surprise += entropy_at(t, weighed);
            Real* spare = before;
            before = now;
            now = spare;
            if (t % kTokensBetweenPolls == kTokensBetweenPolls - 1 && of.stopped()) return Status::stopped;
        }
        if (want.transition_counts) add_transition_counts(want.transition_counts);
        if (want.entropy) *want.entropy = surprise > 0 ? surprise : 0;
        return Status::done;
    }

    // The factors that turn products of α and β into probabilities; false where one would be out of range.
    bool weigh() {
        for (int64_t t = 0; t < T; ++t) {
            const double c = mass(t), edge = c * power_of_two(of.alpha_exponent[t], double());
            if (!(c >= ExpLimits<Real>::kLeastMass && (t == 0 || edge >= ExpLimits<Real>::kLeastMass))) return false;
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
        if (shared.pairs) {
            for (int64_t k = 0; k < L * L; ++k) out[k] = 0;
            const Real *left = alpha + (t - 1) * S, *right = beta + t * S;
            for_pairs<Real>(shared.pairs->into, [&](int64_t place, int64_t i, int64_t j) {
                out[i * L + j] = left[i] * right[j] * shared.into[place];
            });
            return;
        }
        const Real* E = of.into(t);
        for (int64_t i = 0; i < L; ++i) {
            const Vec<Real> left = splat(alpha[(t - 1) * S + i]);
            for (int64_t n = 0; n < vectors; ++n)
                store_row(out + i * L, n, L, left * at(beta + t * S, n) * at(E + i * S, n));
        }
    }

    // counts += E ⊙ Σ_t α_(t−1)ᵀ w_t: a product of matrices, summed in Real over a few tokens at a time.
    void add_transition_counts(double* counts) {
        if (shared.pairs) return add_pair_counts(counts);
        for (int64_t first = 1; first < T; first += kTokensBetweenFlushes) {
            const int64_t last = first + kTokensBetweenFlushes < T ? first + kTokensBetweenFlushes : T;
            int64_t n = 0;
            for (; n + kTile <= vectors; n += kTile) add_column_tile<kTile>(counts, first, last, n);
            for (; n + 2 <= vectors; n += 2) add_column_tile<2>(counts, first, last, n);
            if (n < vectors) add_column_tile<1>(counts, first, last, n);
        }
    }

    // The same for legal pairs alone.
    void add_pair_counts(double* counts) {
        const PairTable& table = shared.pairs->into;
        PairCounts<Real> sums(table, shared.into, S, counts);
        Real* packed = table.places ? take<Real>(of.scratch, kTokensBetweenFlushes * S) : nullptr;
        for (int64_t first = 1; first < T; first += kTokensBetweenFlushes) {
            const int64_t count = first + kTokensBetweenFlushes < T ? kTokensBetweenFlushes : T - first;
            for (int64_t t = 0; packed && t < count; ++t) {
                const Real* w = beta + (first + t) * S;
                for (int64_t j = 0; j < S; ++j) packed[t * S + j] = j < L ? w[table.columns[j]] : Real(0);
            }
            sums.add(alpha + (first - 1) * S, packed ? packed : beta + first * S, count);
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

    // [j][i] = E(i, j) log E(i, j), 0 where forbidden: with it Σ_ij p_ij log E_ij is one more product. With tables of
    // pairs, the same in their cells.
    const Real* weighed_transitions() {
        if (shared.pairs) {
            const PairTable& table = shared.pairs->into;
            Real* cells = take<Real>(of.scratch, pair_cells<Real>(table));
            for_pairs<Real>(table, [&](int64_t place, int64_t i, int64_t j) {
                cells[place] = shared.into[place] * (s.transitions[i * L + j] - shared.transition_power * Real(kLn2));
            });
            return cells;
        }
        Real* out = take<Real>(of.scratch, L * S);
        for (int64_t j = 0; j < L; ++j)
            for (int64_t i = 0; i < S; ++i) {
                const Real score = i < L ? s.transitions[i * L + j] - shared.transition_power * Real(kLn2) : Real(0);
                out[j * S + i] = i < L ? shared.into[i * S + j] * finite_or_zero(score) : Real(0);
            }
        return out;
    }

    static double times_log(double p, double value) { return p > 0 ? p * __builtin_log(value) : 0; }

    // What token t adds to the entropy: −Σ_ij p_ij log p_ij of the edge into t, with
    // log p_ij = log α_(t−1)(i) + log E_ij + log w_t(j), less −Σ_j p_j log p_j if t is inner.
    double entropy_at(int64_t t, const Real* weighed) const {
        double own = 0;  // Σ p log p of this token
        for (int64_t j = 0; j < L; ++j) own += times_log(now[j], now[j]);
        if (T == 1) return -own;
        double total = t > 0 && t < T - 1 ? own : 0;
        if (t == 0) return total;
        const Real *left = alpha + (t - 1) * S, *right = beta + t * S;  // α_(t−1), w_t
        double expected = 0;
        if (shared.pairs)
            for_pairs<Real>(shared.pairs->into, [&](int64_t place, int64_t i, int64_t j) {
                expected += left[i] * right[j] * weighed[place];
            });
        else
            multiply<SumProduct, 1>(&right, weighed, L, S, [&](int, int64_t n, Vec<Real> lanes) {
                expected += sum_of(lanes * at(left, n));
            });
        double logs = 0;
        for (int64_t j = 0; j < L; ++j) logs += times_log(now[j], right[j]) + times_log(before[j], left[j]);
        return total - logs - expected;
    }
};
