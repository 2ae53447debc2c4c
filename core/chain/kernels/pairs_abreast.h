// Sentences abreast where few pairs are legal: one sentence a lane, as in abreast.h, over lists of pairs, as in pairs.h.
// Included by kernels.cpp.
//
// A sentence alone has labels across lanes, and few lanes of a vector are legal pairs. Here a legal pair is one
// multiply-add for all sentences. What remains is the work on each label, so a label is touched as rarely as can be: a
// step forward exponentiates its emissions on the way, and a step back adds up the counts of its pairs. β is not kept.
//
// The bits are those of a sentence alone, as in abreast.h and under the same conditions. Forbidden pairs are never
// summed, which changes nothing: they would add exact zeros.

template <class Real>
class PairsAbreast {
public:
    static constexpr int W = Lanes<Real>::width;

    PairsAbreast(int count, const Scores<Real>* sentences, const SumShared<Real>& shared, const Answers<Real>* want,
                 Arena& scratch, const int* stop)
        : count(count), want(want), shared(shared), stop(stop), T(sentences[0].T), L(sentences[0].L), row(L * W),
          pairs(shared.pairs->legal->count), rows(count, sentences, scratch),
          front(shared.start_allowed, shared.pairs->into, T, L, scratch),
          back(shared.end_allowed, shared.pairs->out_of, T, L, scratch) {
        for (int g = 0; g < W; ++g) lengths[g] = Index(rows.lengths[g]);
        all = want[0].nodes || want[0].transition_counts || want[0].start_counts || want[0].end_counts;
        x = take<Real>(scratch, T * row);
        alpha = take<Real>(scratch, T * row);
        beta = take<Real>(scratch, row);
        weighed = take<Real>(scratch, row);
        ends = take<Real>(scratch, row);
        unused = take<Real>(scratch, L);
        emission_power = take<Real>(scratch, T * W);
        masses = take<Real>(scratch, T * W);
        alpha_exponent = take<Index>(scratch, T * W);
        beta_exponent = take<Index>(scratch, T * W);
        if (!want[0].transition_counts) return;
        counts = take<Real>(scratch, pairs * W);
        older_counts = take<Real>(scratch, pairs * W);
        for (int64_t k = 0; k < pairs; ++k) at(counts, k) = at(older_counts, k) = Vec<Real>{};
    }

    // The status of each sentence; nothing has been added to any sum for those that are not done.
    void compute(Status* status) {
        const bool finished = forward() && backward();
        if (finished) write_log_z();
        if (finished && all) write_sums();
        for (int g = 0; g < count; ++g)
            status[g] = !finished ? Status::stopped : failed[g] ? Status::guard : Status::done;
    }

private:
    typedef typename Lanes<Real>::Index Index;
    const int count;
    const Answers<Real>* want;
    const SumShared<Real>& shared;
    const int* stop;
    const int64_t T, L, row, pairs;
    RowsAbreast<Real> rows;
    ReachRows<Real> front, back;
    Counts<Real> lengths;
    bool all;  // not log Z alone
    Real *x, *alpha;       // [T, L, W]
    Real *beta, *weighed;  // [L, W] β_t, and x_t ⊙ β_t scaled for the next step
    Real* ends;            // [L, W] P(y_(T−1)) of each lane
    Real* unused;          // [L] where lanes write that have no token
    // [pairs, W] Σ_t α_(t−1)(i) w_t(j), lane by lane, in the order of the columns.
    Real *counts = nullptr, *older_counts = nullptr;
    Real *emission_power, *masses;          // [T, W]; masses: Σ_j α_t(j) β_t(j)
    Index *alpha_exponent, *beta_exponent;  // [T, W]
    Counts<Real> failed{};                  // −1 where the sentence needs another way

    Counts<Real>& exponents(Index* of, int64_t t) { return reinterpret_cast<Counts<Real>*>(of)[t]; }

    // α and β of a sentence meet in its middle where log Z is all.
    int64_t last_alpha() const { return all ? T - 1 : T / 2; }
    int64_t first_beta() const { return all ? 0 : rows.lengths[count - 1] / 2; }

    bool stopped(int64_t t) const {
        return t % kTokensBetweenPolls == kTokensBetweenPolls - 1 && __atomic_load_n(stop, __ATOMIC_RELAXED);
    }

    // The extremes of a row that a step makes, for the rescale and the guard.
    struct Seen {
        Vec<Real> high{}, low = splat(Real(__builtin_inf()));
        TAGLINE_INLINED void see(Vec<Real> lanes, Real reach) {
            high = larger(high, lanes);
            low = smaller(low, lanes + splat(reach));
        }
    };

    bool forward() {
        Vec<Real> lowest{}, largest{};
        Counts<Real> next{};
        for (int64_t t = 0; t < T; ++t) {
            const Powers<Real> powers(load(t, lowest, largest));
            Real *emitted = x + t * row, *out = alpha + t * row;
            if (t > last_alpha()) {
                for (int64_t j = 0; j < L; ++j) at(emitted, j) = powers.exp_in_range(at(emitted, j));
                continue;
            }
            const Counts<Real> active = lengths > Index(t);
            const Vec<Real> scale = active ? powers_of_minus<Real>(next) : Vec<Real>{};
            const Real* reach = front.row(front.place(t));
            Seen seen;
            const auto take_alpha = [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED {
                const Vec<Real> factor = powers.exp_in_range(at(emitted, j)), value = lanes * (factor * scale);
                at(emitted, j) = factor;
                at(out, j) = value;
                seen.see(value, reach[j]);
            };
            if (t == 0)
                for (int64_t j = 0; j < L; ++j) take_alpha(j, splat(shared.start[j]));
            else
                multiply_columns<SumProduct>(out - row, shared.pairs->into.by_column, shared.into_columns, L,
                                             EmitColumns<Real, decltype(take_alpha)>{take_alpha});
            exponents(alpha_exponent, t) = active & next;
            next = settle(out, seen, active, exponents(alpha_exponent, t));
            if (stopped(t)) return false;
        }
        settle_ranges(lowest, largest);
        return true;
    }

    // Load the emissions of token t, as they are; their power of two.
    Vec<Real> load(int64_t t, Vec<Real>& lowest, Vec<Real>& largest) {
        Real* out = x + t * row;
        Vec<Real> high = splat(Real(-__builtin_inf())), low = -high;
        rows.load(t, L, [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED {
            at(out, j) = lanes;
            high = larger(high, lanes);
            low = smaller(low, lanes);
        });
        largest = larger(largest, larger(high, -high));
        const Vec<Real> power = powers_in<Real>(high);
        lowest = smaller(lowest, powers_in<Real>(low) - power);
        return at(emission_power, t) = power;
    }

    // A lane fails where exp space cannot hold its scores.
    void settle_ranges(Vec<Real> lowest, Vec<Real> largest) {
        for (int g = 0; g < count; ++g) {
            const Real range = Real(1 - kLn2 * lowest[g]);
            const bool fits = range <= ExpLimits<Real>::kEmissionRange && largest[g] <= kLargestScore<Real> &&
                              largest[g] * Real(T) < Real(0x1p28);  // powers of two are added up in 32 bits
            if (!fits) failed[g] = -1;
        }
    }

    // Bring lanes that fell far down back to size and check them; the exponents that the next step takes off.
    Counts<Real> settle(Real* values, Seen seen, Counts<Real> active, Counts<Real>& exponent) {
        active &= ~failed;
        failed |= active & ~(seen.low >= seen.high * ExpLimits<Real>::kLeastLabel);
        const Counts<Real> small = active & ~(seen.high >= Real(0x1p-16));
        if (any<Real>(small)) raise(values, seen.high, small, exponent);
        return active & exponents_of<Real>(seen.high);
    }

    TAGLINE_APART void raise(Real* values, Vec<Real>& high, Counts<Real> small, Counts<Real>& exponent) {
        const Counts<Real> powers = powers_to_raise<Real>(high, small, failed);
        const Vec<Real> scale = powers_of_minus<Real>(powers);
        for (int64_t j = 0, L = this->L; j < L; ++j) at(values, j) *= scale;
        exponent += powers;
        high *= scale;
    }

    // A step back, and the counts of the pairs that it goes over.
    template <bool kCounting, class Emit>
    struct StepBack {
        const Emit& emit;
        const Real* before;  // α of the earlier token
        Vec<Real> factor;    // α · factor · weighed is a probability once multiplied by E
        Real* counts;
        Vec<Real> left;
        TAGLINE_INLINED void begin(int64_t label) {
            if constexpr (kCounting) left = at(before, label) * factor;
        }
        TAGLINE_INLINED void cell(int64_t k, Vec<Real> lanes) {
            if constexpr (kCounting) at(counts, k) += left * lanes;
        }
        TAGLINE_INLINED void end(int64_t label, Vec<Real> total) { emit(label, total); }
    };

    // A sentence enters at its own last token; until then its β is 0.
    bool backward() {
        Counts<Real> next{};
        for (int64_t t = T - 1; t >= first_beta(); --t) {
            const Counts<Real> enters = lengths == Index(t + 1), active = lengths > Index(t);
            const bool entering = any<Real>(enters);
            const Real* reach = reach_at(t);
            Seen seen;
            const auto take_beta = [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED {
                if (entering) lanes += enters ? splat(shared.end[j]) : Vec<Real>{};
                at(beta, j) = lanes;
                seen.see(lanes, reach ? reach[j] : back.nowhere()[j]);
            };
            if (t == T - 1)
                for (int64_t j = 0; j < L; ++j) take_beta(j, Vec<Real>{});
            else if (counts)
                step_back<true>(t, factor_at(t + 1, next), take_beta);
            else
                step_back<false>(t, Vec<Real>{}, take_beta);
            exponents(beta_exponent, t) = next;
            if (!reach) look_at_each(t, active, seen);
            next = settle(beta, seen, active, exponents(beta_exponent, t));
            weigh(t, powers_of_minus<Real>(next));
            if (all) tell(t, active, enters, entering);
            if (stopped(t)) return false;
        }
        return true;
    }

    template <bool kCounting, class Emit>
    void step_back(int64_t t, Vec<Real> factor, const Emit& emit) {
        multiply_columns<SumProduct>(weighed, shared.pairs->out_of.by_column, shared.out_of_columns, L,
                                     StepBack<kCounting, Emit>{emit, alpha + t * row, factor, counts, {}});
        if (kCounting && (T - 1 - t) % kTokensBetweenFlushes == 0)
            for (int64_t k = 0; k < pairs; ++k) {
                at(older_counts, k) += at(counts, k);
                at(counts, k) = Vec<Real>{};
            }
    }

    // What turns α_(t−1) E weighed_t into probabilities: weighed_t is x_t ⊙ β_t over 2^exponent.
    Vec<Real> factor_at(int64_t t, Counts<Real> exponent) {
        const Counts<Real> here = lengths > Index(t);
        const Vec<Real> share = here ? Real(1) / (here ? at(masses, t) : splat(Real(1))) : Vec<Real>{};
        const Vec<Real> factor = share * powers_of_minus<Real>(exponents(alpha_exponent, t) - exponent);
        failed |= here & ~(factor <= Real(1 / ExpLimits<Real>::kLeastMass));
        return factor;
    }

    // The labels that can be reached where all lanes with a token at t are as far from their ends; else null.
    const Real* reach_at(int64_t t) const {
        int64_t common = -1;
        for (int g = 0; g < count; ++g) {
            if (rows.lengths[g] <= t) continue;
            const int64_t place = back.place(rows.lengths[g] - 1 - t);
            if (common >= 0 && place != common) return nullptr;
            common = place;
        }
        return back.row(common);
    }

    TAGLINE_APART void look_at_each(int64_t t, Counts<Real> active, Seen& seen) const {
        for (int g = 0; g < count; ++g) {
            if (!active[g]) continue;
            const Real* reach = back.row(back.place(rows.lengths[g] - 1 - t));
            Real low = seen.high[g];
            for (int64_t j = 0; j < L; ++j)
                if (beta[j * W + g] + reach[j] < low) low = beta[j * W + g];
            seen.low[g] = low;
        }
    }

    // weighed = x_t ⊙ β_t · scale, and Σ_j α_t(j) β_t(j) in the order of Posterior::mass: label by label within a lane of
    // its vectors, then by halves.
    void weigh(int64_t t, Vec<Real> scale) {
        const Real *emitted = x + t * row, *left = alpha + (t <= last_alpha() ? t : 0) * row;
        Vec<Real> sums[W];
        repeat<W>([&]<int r>() TAGLINE_INLINED { sums[r] = Vec<Real>{}; });
        const auto take_label = [&]<int r>(int64_t j) TAGLINE_INLINED {
            const Vec<Real> b = at(beta, j + r);
            sums[r] += at(left, j + r) * b;
            at(weighed, j + r) = at(emitted, j + r) * b * scale;
        };
        int64_t j = 0;
        for (; j + W <= L; j += W) repeat<W>([&]<int r>() TAGLINE_INLINED { take_label.template operator()<r>(j); });
        repeat<W>([&]<int r>() TAGLINE_INLINED {
            if (j + r < L) take_label.template operator()<r>(j);
        });
        for (int half = W / 2; half > 0; half /= 2)
            for (int r = 0; r < half; ++r) sums[r] += sums[r + half];
        at(masses, t) = sums[0];
        if (!all) return;
        constexpr Real least = Real(ExpLimits<Real>::kLeastMass);
        const Vec<Real> edge = sums[0] * powers_of_minus<Real>(-exponents(alpha_exponent, t));
        failed |= (lengths > Index(t)) & ~(sums[0] >= least);
        if (t > 0) failed |= (lengths > Index(t)) & ~(edge >= least);
    }

    // P(y_t), to the caller's rows; those at the ends of sentences are kept.
    void tell(int64_t t, Counts<Real> active, Counts<Real> enters, bool entering) {
        const Vec<Real> share = active ? Real(1) / (active ? at(masses, t) : splat(Real(1))) : Vec<Real>{};
        const Real* left = alpha + t * row;
        if (entering && want[0].end_counts)
            for (int64_t j = 0; j < L; ++j)
                at(ends, j) = enters ? at(left, j) * at(beta, j) * share : t == T - 1 ? Vec<Real>{} : at(ends, j);
        if (!want[0].nodes) return;
        constexpr int P = kPart<Real>;
        const Vec<Real> signed_share = want[0].negative_nodes ? -share : share;
        Real* out[W];
        for (int g = 0; g < W; ++g) out[g] = g < count && active[g] && !failed[g] ? want[g].nodes + t * L : unused;
        for (int64_t first = 0; first < L; first += P) {
            const int64_t j = first + P <= L ? first : L - P;
            Vec<Real> block[P];
            repeat<P>([&]<int k>() TAGLINE_INLINED { block[k] = at(left, j + k) * at(beta, j + k) * signed_share; });
            turn_parts<Real>(block);
            repeat<P>([&]<int r>() TAGLINE_INLINED {
                repeat<kParts<Real>>([&]<int q>() TAGLINE_INLINED { store_part<Real>(block[r], q, out[q * P + r] + j); });
            });
        }
    }

    void write_log_z() {
        Counts<Real> powers{};
        Vec<Real> middle{};
        for (int64_t t = 0; t < T; ++t) {
            const Counts<Real> half = lengths >> 1;
            Counts<Real> sum = __builtin_convertvector(at(emission_power, t), Counts<Real>);
            if (t <= last_alpha()) sum += half >= Index(t) ? exponents(alpha_exponent, t) : Counts<Real>{};
            if (t >= first_beta()) sum += half <= Index(t) ? exponents(beta_exponent, t) : Counts<Real>{};
            powers += lengths > Index(t) ? sum : Counts<Real>{};
            if (t >= first_beta() && t <= last_alpha()) middle = half == Index(t) ? at(masses, t) : middle;
        }
        const int64_t edges = int64_t(shared.start_power) + int64_t(shared.end_power);
        for (int g = 0; g < count; ++g) {
            if (!(middle[g] >= ExpLimits<Real>::kLeastMass)) failed[g] = -1;
            if (failed[g] || !want[g].log_z) continue;
            const int64_t between = int64_t(shared.transition_power) * (rows.lengths[g] - 1);
            *want[g].log_z = log_of(double(middle[g]), edges + between + int64_t(powers[g]));
        }
    }

    // Add what the lanes that are done have counted.
    void write_sums() {
        const Counts<Real> good = (lengths > 0) & ~failed;
        const Vec<Real> share = good ? Real(1) / (good ? at(masses, 0) : splat(Real(1))) : Vec<Real>{};
        for (int64_t j = 0; want[0].start_counts && j < L; ++j)
            want[0].start_counts[j] += double(sum_of(good ? at(alpha, j) * at(beta, j) * share : Vec<Real>{}));
        for (int64_t j = 0; want[0].end_counts && j < L; ++j)
            want[0].end_counts[j] += double(sum_of(good ? at(ends, j) : Vec<Real>{}));
        const int32_t* numbers = shared.pairs->out_of.by_column.numbers;
        for (int64_t first = 0; counts && first < pairs; first += W) {
            const int64_t some = pairs - first < W ? pairs - first : W;
            Vec<Real> lanes[W];
            for (int64_t k = 0; k < W; ++k)
                lanes[k] = k < some ? (good ? at(counts, first + k) + at(older_counts, first + k) : Vec<Real>{})
                                            : Vec<Real>{};
            const Vec<Real> totals = sums_of_lanes<W, Real>(lanes);
            for (int64_t k = 0; k < some; ++k)
                want[0].transition_counts[numbers[first + k]] +=
                    double(totals[k]) * double(shared.out_of_columns[first + k]);
        }
    }
};
