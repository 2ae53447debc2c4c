// Forward–backward for sentences abreast: one sentence a lane, up to as many as a vector has. Included by kernels.cpp.
//
// The recursions are those of forward_backward.h. There a vector holds labels of one sentence: with 9 of them 7 of 16
// lanes are idle, and a step ends with a maximum over lanes. Here a vector holds one label of many sentences, no lane is
// idle and nothing is folded: α'_j = x_j · Σ_i α_i E_ij are multiply-adds with one E_ij for all lanes.
//
// Every lane adds in the order in which forward_backward.h adds for a sentence alone (`sums_at`, `mass`), so that log Z
// and marginals have the same bits in either way: which one is faster may decide, and a sentence's answers do not depend
// on its company. Only sums over sentences differ in the last bits. Where lanes rest between rescales, when they are
// rescaled makes no difference (steps_without_rescale); where they do not, all is done in the order of a sentence alone.
//
// Only the common case is handled: shared transitions, finite emissions. A lane that meets anything else, or falls out
// of range, comes back as Status::guard with nothing added to any sum, and forward_backward.h answers for it.

template <class Real>
uint64_t bits_of(const Real* row, int64_t L) {
    uint64_t bits = 0;
    for (int64_t j = 0; j < L; ++j) bits |= uint64_t(row[j] > 0) << j;
    return bits;
}

template <class Real>
class Abreast {
public:
    static constexpr int W = Lanes<Real>::width;

    Abreast(int count, const Scores<Real>* sentences, const SumShared<Real>& shared, const Answers<Real>* want,
            Arena& scratch, const int* stop)
        : count(count), want(want), shared(shared), stop(stop), T(sentences[0].T), L(sentences[0].L),
          S(padded<Real>(L)), row(L * W), rows(count, sentences, scratch) {
        for (int g = 0; g < W; ++g) lengths[g] = Index(rows.lengths[g]);
        all = want[0].nodes || want[0].transition_counts || want[0].start_counts || want[0].end_counts;
        x = take<Real>(scratch, T * row);
        alpha = take<Real>(scratch, (all ? T : last_alpha() - first_beta() + 3) * row);
        keeps_nodes = want[0].nodes && L * int64_t(sizeof(Real)) > 64;
        beta = take<Real>(scratch, (keeps_nodes ? T : 1) * row);
        last_nodes = take<Real>(scratch, row);
        totals = want[0].transition_counts ? take<Real>(scratch, L * (L + W)) : nullptr;
        emission_power = take<Real>(scratch, T * W);
        alpha_exponent = take<Index>(scratch, T * W);
        beta_exponent = take<Index>(scratch, T * W);
        w = take<Real>(scratch, row);
        raw = take<Real>(scratch, kTile == 4 ? 2 * row : 0);
        reach_front = take<uint64_t>(scratch, T);
        reach_back = take<uint64_t>(scratch, T);
    }

    // The status of each sentence; nothing has been added to any sum for those that are not done.
    void compute(Status* status) {
        exponentiate();
        const bool finished = forward() && backward();
        if (finished) write_log_z();
        for (int64_t t = 0; finished && keeps_nodes && t < T; ++t) store_nodes(t);
        if (finished && all) add_sums();
        for (int g = 0; g < count; ++g)
            status[g] = !finished ? Status::stopped : failed[g] ? Status::guard : Status::done;
    }

private:
    typedef typename Lanes<Real>::Index Index;
    const int count;
    const Answers<Real>* want;
    const SumShared<Real>& shared;
    const int* stop;
    const int64_t T, L, S, row;
    RowsAbreast<Real> rows;
    Counts<Real> lengths;
    bool all;  // not log Z alone
    bool keeps_nodes;        // P of all tokens until the end; see store_nodes
    Real *x, *alpha;         // [T, L, W]; a step back makes x_t ⊙ β_t of x_t, and `weigh` α_t · edge_share_(t+1) of α_t
    Real* beta;              // [L, W] β_t; then P(y_t), or −P. [T, L, W] where they are kept
    Real* last_nodes;        // [L, W] P of the last token of each sentence, or −P
    Real* totals;            // [L, L + W] Σ_t α_(t−1)ᵀ x_t, of what they have become, over a few tokens of all lanes
    Real* emission_power;    // [T, W]
    Index *alpha_exponent, *beta_exponent;   // [T, W]
    Vec<Real> middle{};                      // Σ_j α(j) β(j) at the token where log Z is read off
    Vec<Real> edge_share{};                  // makes probabilities of α_(t−1) E (x_t ⊙ β_t); of the token behind
    Real* w;                                 // [L, W] scaled x_t or x_t ⊙ β_t
    Real* raw;                               // [2, L, W] emissions of two tokens
    uint64_t *reach_front, *reach_back;      // [T] the labels that can be reached, by the distance from an end
    Counts<Real> failed{};   // −1 where the sentence needs another way
    Counts<Real> guarded{};  // −1 where labels that can be reached are watched
    int64_t rest = 1;        // steps from one rescale to the next
    bool watch = false;      // some lane is guarded

    Counts<Real>& exponents(Index* of, int64_t t) { return reinterpret_cast<Counts<Real>*>(of)[t]; }

    Real* beta_row(int64_t t) const { return beta + (keeps_nodes ? t : 0) * row; }

    // Where log Z is all, α is kept from the token on where it may meet β, and two rows of it before.
    Real* alpha_row(int64_t t) { return alpha + (all ? t : t < first_beta() ? t % 2 : t - first_beta() + 2) * row; }

    bool stopped(int64_t t) const {
        return t % kTokensBetweenPolls == kTokensBetweenPolls - 1 && __atomic_load_n(stop, __ATOMIC_RELAXED);
    }

    // Fill x; a lane fails where exp space cannot hold its scores, and is 0 from then on.
    void exponentiate() {
        const int64_t L = this->L, row = this->row;  // stores may change members, as far as the compiler knows
        Vec<Real> lowest{}, largest{}, high, low;
        Real* turned;
        const auto look_at = [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED {
            at(turned, j) = lanes;
            high = larger(high, lanes);
            low = smaller(low, lanes);
        };
        const auto begin_row = [&](Real* to) TAGLINE_INLINED {
            turned = to;
            high = splat(Real(-__builtin_inf()));
            low = -high;
        };
        const auto take_power = [&](int64_t t) TAGLINE_INLINED {
            const Vec<Real> power = powers_in<Real>(high);
            largest = larger(largest, larger(high, -high));
            lowest = smaller(lowest, powers_in<Real>(low) - power);
            return at(emission_power, t) = power;
        };
        const auto end_row = [&](int64_t t) TAGLINE_INLINED {
            if (t < rows.lengths[W - 1]) return;
            Real* out = x + t * row;
            for (int64_t j = 0; j < L; ++j) at(out, j) = lengths > Index(t) ? at(out, j) : Vec<Real>{};  // else α grows
        };
        if constexpr (kTile != 4) {
            for (int64_t t = 0; t < T; ++t) {
                Real* out = x + t * row;
                begin_row(out);
                rows.load(t, L, look_at);
                const Powers<Real> powers(take_power(t));
                for (int64_t j = 0; j < L; ++j) at(out, j) = powers.exp_in_range(at(out, j));
                end_row(t);
            }
        } else {
            // With 32 registers the rows of the next token are turned while one is exponentiated, a few labels of either
            // in turns, so that shuffles go beside multiply-adds.
            constexpr int P = kPart<Real>;
            typename RowsAbreast<Real>::Token token;
            begin_row(raw);
            rows.load(0, L, look_at);
            for (int64_t t = 0; t < T; ++t) {
                const Real* now = turned;
                Real* out = x + t * row;
                const Powers<Real> powers(take_power(t));
                const bool more = t + 1 < T;
                begin_row(raw + (t + 1) % 2 * row);
                if (more) rows.find(t + 1, L, token);
                for (int64_t begin = 0; begin < L; begin += P) {
                    if (more) rows.turn(token, begin, L, look_at);
                    const int64_t end = begin + P < L ? begin + P : L;
                    for (int64_t j = begin; j < end; ++j) at(out, j) = powers.exp_in_range(at(now, j));
                }
                end_row(t);
            }
        }
        settle_ranges(lowest, largest);
        if (any<Real>(failed)) {
            for (int64_t n = 0; n < T * L; ++n) at(x, n) = failed ? Vec<Real>{} : at(x, n);
            for (int64_t t = 0; t < T; ++t) at(emission_power, t) = failed ? Vec<Real>{} : at(emission_power, t);
        }
        if (watch) find_reach();
    }

    // What the trellis of a sentence alone would settle; `rest` is the fewest steps that a lane asks for.
    void settle_ranges(Vec<Real> lowest, Vec<Real> largest) {
        const Real transition_range = larger_of(shared.transitions.range(), shared.edge_range);
        const bool forbidden = shared.forbidden || shared.transitions.forbidden;
        Real widest = 0;
        for (int g = 0; g < count; ++g) {
            const Real range = Real(1 - kLn2 * lowest[g]);
            const bool fits = range <= ExpLimits<Real>::kEmissionRange && largest[g] <= kLargestScore<Real> &&
                              largest[g] * Real(T) < Real(0x1p28);  // powers of two are added up in 32 bits
            const bool watched = forbidden || !(range + transition_range <= ExpLimits<Real>::kFiniteRange);
            failed[g] = fits ? 0 : -1;
            guarded[g] = fits && watched ? -1 : 0;
            widest = larger_of(widest, fits ? range : Real(0));
        }
        watch = any<Real>(guarded);
        rest = watch ? 1 : steps_without_rescale(widest, transition_range, L);
    }

    // The labels that can be reached are the same for all sentences: their emissions are finite.
    void find_reach() {
        uint64_t follow[kMostLabelsAbreast], precede[kMostLabelsAbreast];
        for (int64_t i = 0; i < L; ++i) {
            follow[i] = shared.transitions.forbidden ? bits_of(shared.may_enter + i * S, L) : ~uint64_t(0);
            precede[i] = shared.transitions.forbidden ? bits_of(shared.may_leave + i * S, L) : ~uint64_t(0);
        }
        spread_reach(bits_of(shared.start_allowed, L), follow, reach_front);
        spread_reach(bits_of(shared.end_allowed, L), precede, reach_back);
    }

    void spread_reach(uint64_t now, const uint64_t* steps, uint64_t* reach) const {
        reach[0] = now;
        for (int64_t t = 1; t < T; ++t) {
            if (t > 1 && reach[t - 1] == reach[t - 2]) {
                reach[t] = reach[t - 1];
                continue;
            }
            reach[t] = 0;
            for (int64_t i = 0; i < L; ++i) reach[t] |= reach[t - 1] >> i & 1 ? steps[i] : 0;
        }
    }

    bool forward() {
        const int64_t last = last_alpha();
        for (int64_t j = 0; j < L; ++j) at(alpha_row(0), j) = splat(shared.start[j]) * at(x, j);
        exponents(alpha_exponent, 0) = Counts<Real>{};
        Vec<Real> high{};
        for (int64_t j = 0; j < L; ++j) high = larger(high, at(alpha_row(0), j));
        Counts<Real> next =
            settle(alpha_row(0), high, lengths > 0, Counts<Real>{}, exponents(alpha_exponent, 0), reach_front);
        for (int64_t t = 1; t <= last; ++t) {
            const bool scaled = due(t - 1);
            exponents(alpha_exponent, t) = scaled ? next : Counts<Real>{};
            const Real* emitted = scaled ? scaled_row(x + t * row, next) : x + t * row;
            Real* out = alpha_row(t);
            high = Vec<Real>{};
            multiply_abreast(alpha_row(t - 1), shared.into, L, S, [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED {
                const Vec<Real> value = lanes * at(emitted, j);
                at(out, j) = value;
                high = larger(high, value);
            });
            if (due(t))
                next = settle(out, high, lengths > Index(t), all_lanes<Real>(t), exponents(alpha_exponent, t), reach_front);
            if (stopped(t)) return false;
        }
        return true;
    }

    // A sentence enters at its own last token; until then its β is 0.
    bool backward() {
        const int64_t first = first_beta();
        Counts<Real> next{};
        for (int64_t t = T - 1; t >= first; --t) {
            Real *out = beta_row(t), *weighed = x + t * row;
            const Counts<Real> enters = lengths == Index(t + 1);
            const bool entering = any<Real>(enters), later = rest == 1;  // a small β is raised before x is weighed by it
            Vec<Real> high{};
            const auto emit = [&](int64_t j, Vec<Real> lanes) TAGLINE_INLINED {
                if (entering) lanes += enters ? splat(shared.end[j]) : Vec<Real>{};  // what has not entered is 0
                at(out, j) = lanes;
                high = larger(high, lanes);
                if (!later) at(weighed, j) *= lanes;
            };
            exponents(beta_exponent, t) = Counts<Real>{};
            if (t == T - 1) {
                for (int64_t j = 0; j < L; ++j) emit(j, Vec<Real>{});
            } else {
                const bool scaled = due(T - 2 - t);
                if (scaled) exponents(beta_exponent, t) = next;
                const Real* after = weighed + row;
                multiply_abreast(scaled ? scaled_row(after, next) : after, shared.out_of, L, S, emit);
            }
            if (due(T - 1 - t))
                next = settle(out, high, lengths > Index(t), lengths - Index(1) - Index(t), exponents(beta_exponent, t),
                              reach_back, later ? nullptr : weighed);
            for (int64_t j = 0; later && j < L; ++j) at(weighed, j) *= at(out, j);
            if (t <= last_alpha()) meet(t);
            if (stopped(t)) return false;
        }
        return true;
    }

    bool due(int64_t step) const { return (step & (rest - 1)) == 0; }

    const Real* scaled_row(const Real* from, Counts<Real> exponent) const {
        const Vec<Real> scale = powers_of_minus<Real>(exponent);
        Real* out = w;
        for (int64_t j = 0, L = this->L; j < L; ++j) at(out, j) = at(from, j) * scale;
        return out;
    }

    // Bring lanes that fell far down back to size and check them, `distance` steps from their end; the exponents that
    // the next step takes off. `high` is the largest of the values, and `product` is scaled along with them.
    Counts<Real> settle(Real* values, Vec<Real> high, Counts<Real> active, Counts<Real> distance, Counts<Real>& exponent,
                        const uint64_t* reach, Real* product = nullptr) {
        active &= ~failed;
        const Counts<Real> small = active & ~(high >= Real(0x1p-16));
        if (any<Real>(small)) high = raise(values, high, small, exponent, product);
        if (watch) check_reach(values, high, active & guarded & ~failed, distance, reach);
        return active & exponents_of<Real>(high);
    }

    TAGLINE_APART Vec<Real> raise(Real* values, Vec<Real> high, Counts<Real> small, Counts<Real>& exponent,
                                  Real* product) {
        const Counts<Real> powers = powers_to_raise<Real>(high, small, failed);
        const Vec<Real> scale = powers_of_minus<Real>(powers);
        const int64_t L = this->L;
        for (int64_t j = 0; j < L; ++j) at(values, j) *= scale;
        for (int64_t j = 0; product && j < L; ++j) at(product, j) *= scale;
        exponent += powers;
        return high * scale;
    }

    // A label that can be reached and lies too far below the largest fails its lane.
    void check_reach(const Real* values, Vec<Real> high, Counts<Real> watched, Counts<Real> distance,
                     const uint64_t* reach) {
        constexpr int kEach = 8 * int(sizeof(Real));  // labels that fit a lane
        Vec<Real> low = high;
        for (int64_t begin = 0; begin < L; begin += kEach) {
            Counts<Real> sets{};
            for (int g = 0; g < W; ++g)
                if (watched[g]) sets[g] = Index(reach[distance[g]] >> begin);
            for (int64_t j = begin; j < L && j < begin + kEach; ++j) {
                const Counts<Real> reached = (sets & 1) != 0;
                low = smaller(low, reached ? at(values, j) : high);
                sets >>= 1;
            }
        }
        failed |= watched & ~(low >= high * ExpLimits<Real>::kLeastLabel);
    }

    // α_t and β_t are there.
    void meet(int64_t t) {
        const Vec<Real> c = mass<0, 1>(alpha_row(t), beta_row(t));
        middle = (lengths >> 1) == Index(t) ? c : middle;
        if (all) weigh(t, c);
    }

    // Σ_j α(j) β(j) in the order of Posterior::mass: label by label within a lane of its vectors, then by halves.
    template <int k, int kStep>
    TAGLINE_INLINED Vec<Real> mass(const Real* left, const Real* right) const {
        Vec<Real> sum{};
        if constexpr (kStep == W) {
            for (int64_t j = k; j < L; j += W) sum += at(left, j) * at(right, j);
        } else {
            sum = mass<k, 2 * kStep>(left, right);
            if (k + kStep < L) sum += mass<k + kStep, 2 * kStep>(left, right);
        }
        return sum;
    }

    void write_log_z() {
        Counts<Real> powers{};
        for (int64_t t = 0; t < T; ++t) {
            const Counts<Real> half = lengths >> 1;
            Counts<Real> sum = __builtin_convertvector(at(emission_power, t), Counts<Real>);
            if (t <= last_alpha()) sum += half >= Index(t) ? exponents(alpha_exponent, t) : Counts<Real>{};
            if (t >= first_beta()) sum += half <= Index(t) ? exponents(beta_exponent, t) : Counts<Real>{};
            powers += lengths > Index(t) ? sum : Counts<Real>{};
        }
        const int64_t ends = int64_t(shared.start_power) + int64_t(shared.end_power);
        for (int g = 0; g < count; ++g) {
            if (!(middle[g] >= ExpLimits<Real>::kLeastMass)) failed[g] = -1;
            if (failed[g] || !want[g].log_z) continue;
            const int64_t between = int64_t(shared.transition_power) * (rows.lengths[g] - 1);
            *want[g].log_z = log_of(double(middle[g]), ends + between + int64_t(powers[g]));
        }
    }

    // α and β of a sentence meet in its middle where log Z is all.
    int64_t last_alpha() const { return all ? T - 1 : T / 2; }
    int64_t first_beta() const { return all ? 0 : rows.lengths[count - 1] / 2; }

    // P(y_t), and what the edge behind t adds to the counts, while the rows are in the cache; a lane fails where its
    // shares would be out of range.
    void weigh(int64_t t, Vec<Real> c) {
        constexpr Real least = Real(ExpLimits<Real>::kLeastMass);
        const Counts<Real> exponent = exponents(alpha_exponent, t), active = lengths > Index(t);
        failed |= active & ~(c >= least);
        if (t > 0) failed |= active & ~(c * powers_of_minus<Real>(-exponent) >= least);
        const Counts<Real> here = active & ~failed;
        const Vec<Real> share = here ? Real(1) / (here ? c : splat(Real(1))) : Vec<Real>{};
        const Vec<Real> signed_share = want[0].negative_nodes ? -share : share, behind = edge_share;
        Real *a = alpha_row(t), *p = beta_row(t);
        const bool counting = want[0].transition_counts;
        for (int64_t j = 0, L = this->L; j < L; ++j) {
            const Vec<Real> left = at(a, j);
            at(p, j) = left * at(p, j) * signed_share;
            if (counting) at(a, j) = left * behind;
        }
        edge_share = share * powers_of_minus<Real>(exponent);
        if (want[0].nodes && !keeps_nodes) store_nodes(t);
        const Counts<Real> last = lengths == Index(t + 1);
        if (want[0].end_counts && any<Real>(last))
            for (int64_t j = 0; j < L; ++j) at(last_nodes, j) = last ? at(p, j) : at(last_nodes, j);
    }

    // The sums over sentences, of lanes that did not fail.
    void add_sums() {
        if (want[0].start_counts) add_ends(beta_row(0), want[0].start_counts);
        if (want[0].end_counts) add_ends(last_nodes, want[0].end_counts);
        if (!want[0].transition_counts) return;
        if (any<Real>(failed))  // they are no longer rescaled, so perhaps ∞: 0 · ∞ would reach the sums of all lanes
            for (int64_t n = 0; n < T * L; ++n) {
                at(alpha, n) = failed ? Vec<Real>{} : at(alpha, n);
                at(x, n) = failed ? Vec<Real>{} : at(x, n);
            }
        for (int64_t first = 1; first < T; first += kTokensBetweenFlushes)
            add_products(first, first + kTokensBetweenFlushes < T ? first + kTokensBetweenFlushes : T);
    }

    // P(y_t), to the caller's rows. Rows of at most a cache line are written at once. Longer ones wait until all are
    // there: written from the last token to the first, among the products, they miss the cache (45 labels: 1.2 times).
    void store_nodes(int64_t t) const {
        const int64_t L = this->L;
        const Real* p = beta_row(t);
        const Counts<Real> here = (lengths > Index(t)) & ~failed;
        constexpr int P = kPart<Real>;
        alignas(64) Real unused[kMostLabelsAbreast];
        Real* out[W];
        for (int g = 0; g < W; ++g) out[g] = here[g] ? want[g].nodes + t * L : unused;
        for (int64_t j = 0; L < P && j < L; ++j)
            for (int g = 0; g < W; ++g) out[g][j] = p[j * W + g];
        for (int64_t next = 0; L >= P && next < L; next += P) {
            const int64_t j = next + P <= L ? next : L - P;
            Vec<Real> block[P];
            repeat<P>([&]<int k>() TAGLINE_INLINED { block[k] = at(p, j + k); });
            turn_parts<Real>(block);
            repeat<P>([&]<int r>() TAGLINE_INLINED {
                repeat<kParts<Real>>([&]<int q>() TAGLINE_INLINED { store_part<Real>(block[r], q, out[q * P + r] + j); });
            });
        }
    }

    void add_ends(const Real* p, double* counts) const {
        for (int g = 0; g < count; ++g)
            for (int64_t j = 0; !failed[g] && j < L; ++j)
                counts[j] += double(want[0].negative_nodes ? -p[j * W + g] : p[j * W + g]);
    }

    // counts += E ⊙ Σ_t α_(t−1)ᵀ x_t, of what `weigh` made of them, over tokens first … last − 1 of all lanes.
    void add_products(int64_t first, int64_t last) {
        in_tiles<kTile>(0, L, [&]<int kRows>(int64_t i) {
            in_tiles<6>(0, L, [&]<int kColumns>(int64_t j) { add_tile<kRows, kColumns>(first, last, i, j); });
        });
        for (int64_t i = 0; i < L; ++i) {
            const Real *total = totals + i * (L + W), *factors = shared.into + i * S;
            double* counts = want[0].transition_counts + i * L;
            for (int64_t j = 0; j < L; ++j) counts[j] += double(total[j]) * double(factors[j]);
        }
    }

    // A tile of `totals`. Each vector of sums is stored whole, and what it has too much is overwritten by the next tile.
    template <int kRows, int kColumns>
    void add_tile(int64_t first, int64_t last, int64_t i, int64_t j) {
        Vec<Real> sums[kRows * kColumns];
        repeat<kRows * kColumns>([&]<int k>() TAGLINE_INLINED { sums[k] = Vec<Real>{}; });
        for (int64_t t = first; t < last; ++t) {
            const Real *left = alpha + (t - 1) * row + i * W, *right = x + t * row + j * W;
            Vec<Real> u[kRows];
            repeat<kRows>([&]<int r>() TAGLINE_INLINED { u[r] = at(left, r); });
            repeat<kColumns>([&]<int k>() TAGLINE_INLINED {
                const Vec<Real> v = at(right, k);
                repeat<kRows>([&]<int r>() TAGLINE_INLINED { sums[r * kColumns + k] += u[r] * v; });
            });
        }
        constexpr int kTogether = kColumns < W ? kColumns : W;  // sums that fit a vector
        repeat<kRows>([&]<int r>() TAGLINE_INLINED {
            Real* out = totals + (i + r) * (L + W) + j;
            repeat<(kColumns + kTogether - 1) / kTogether>([&]<int part>() TAGLINE_INLINED {
                constexpr int kBegin = part * kTogether;
                constexpr int kCount = kColumns - kBegin < kTogether ? kColumns - kBegin : kTogether;
                *reinterpret_cast<typename Lanes<Real>::Loose*>(out + kBegin) =
                    sums_of_lanes<kCount, Real>(sums + r * kColumns + kBegin);
            });
        });
    }
};

// Whether these sentences can go abreast: the same questions, shared transitions, sums in common.
template <class Real>
inline bool can_go_abreast(int count, const Scores<Real>* sentences, const SumShared<Real>& shared,
                           const Answers<Real>* want) {
    const Scores<Real>& s = sentences[0];
    const Answers<Real>& asked = want[0];
    if (s.per_position || s.symbols || s.gaussians) return false;
    if (shared.pairs ? !can_go_abreast(*shared.pairs, s.T, s.L) : s.L > kMostLabelsAbreast) return false;
    if (shared.too_large) return false;
    if (!(shared.edge_range <= ExpLimits<Real>::kEmissionRange)) return false;
    if (asked.edges || asked.log_alpha || asked.log_beta || asked.entropy) return false;
    for (int g = 1; g < count; ++g)
        if (want[g].transition_counts != asked.transition_counts || want[g].start_counts != asked.start_counts)
            return false;
    return true;
}

template <class Real>
bool posterior_abreast(int count, const Scores<Real>* sentences, const void* memory, const Answers<Real>* want,
                       Status* status, Arena& scratch, const int* stop) {
    const auto& shared = *static_cast<const SumShared<Real>*>(memory);
    if (!can_go_abreast(count, sentences, shared, want)) return false;
    if (shared.pairs)
        PairsAbreast<Real>(count, sentences, shared, want, scratch, stop).compute(status);
    else
        Abreast<Real>(count, sentences, shared, want, scratch, stop).compute(status);
    return true;
}
