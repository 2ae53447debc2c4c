// Sums over the first label of a triple, for the posterior of second-order chains: rows of doubles whose lengths are
// multiples of eight. Included by kernels.cpp only.

typedef Lanes<double>::Loose LooseDoubles;

inline Vec<double> loose(const double* row) { return *reinterpret_cast<const LooseDoubles*>(row); }
inline void put(double* row, Vec<double> values) { *reinterpret_cast<LooseDoubles*>(row) = values; }

// out[c] = Σ_k amounts[k] · rows[k][c] for c of `tiles` vectors.
template <int tiles>
TAGLINE_INLINED inline void combine_tile(int64_t count, const double* amounts, const double* const* rows, int64_t at,
                                         double* out) {
    Vec<double> sums[tiles] = {};
    for (int64_t k = 0; k < count; ++k) {
        const Vec<double> amount = splat(amounts[k]);
        for (int v = 0; v < tiles; ++v) sums[v] += amount * loose(rows[k] + at + v * Lanes<double>::width);
    }
    for (int v = 0; v < tiles; ++v) put(out + at + v * Lanes<double>::width, sums[v]);
}

void combine(int64_t count, const double* amounts, const double* const* rows, int64_t C, double* out) {
    constexpr int64_t width = Lanes<double>::width;
    int64_t c = 0;
    for (; c + 6 * width <= C; c += 6 * width) combine_tile<6>(count, amounts, rows, c, out);
    for (; c + 2 * width <= C; c += 2 * width) combine_tile<2>(count, amounts, rows, c, out);
    for (; c < C; c += width) combine_tile<1>(count, amounts, rows, c, out);
}

// out[k] = Σ_c rows[k][c] · values[c].
void dots(int64_t count, const double* const* rows, const double* values, int64_t C, double* out) {
    constexpr int64_t width = Lanes<double>::width;
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) {
        Vec<double> sums[4] = {};
        for (int64_t c = 0; c < C; c += width) {
            const Vec<double> value = loose(values + c);
            for (int r = 0; r < 4; ++r) sums[r] += loose(rows[k + r] + c) * value;
        }
        for (int r = 0; r < 4; ++r) out[k + r] = sum_of(sums[r]);
    }
    for (; k < count; ++k) {
        Vec<double> sum = {};
        for (int64_t c = 0; c < C; c += width) sum += loose(rows[k] + c) * loose(values + c);
        out[k] = sum_of(sum);
    }
}

// rows[k · C + c] *= values[c]; out[k] = Σ_c of those.
void multiply(int64_t count, double* rows, const double* values, int64_t C, double* out) {
    for (int64_t k = 0; k < count; ++k, rows += C) {
        Vec<double> sum = {};
        for (int64_t c = 0; c < C; c += Lanes<double>::width) {
            const Vec<double> products = loose(rows + c) * loose(values + c);
            put(rows + c, products);
            sum += products;
        }
        out[k] = sum_of(sum);
    }
}

// The numbers of a row at the places of one vector's labels. Made of single loads, which take no longer than the
// instructions that gather.
template <class V = Vec<double>>
inline V pick(const double* row, const int32_t* labels) {
    if constexpr (sizeof(V) == 64)
        return V{row[labels[0]], row[labels[1]], row[labels[2]], row[labels[3]],
                 row[labels[4]], row[labels[5]], row[labels[6]], row[labels[7]]};
    else if constexpr (sizeof(V) == 32)
        return V{row[labels[0]], row[labels[1]], row[labels[2]], row[labels[3]]};
    else
        return V{row[labels[0]], row[labels[1]]};
}

// rows[k · C + c] = table[contexts[k] · stride + labels[c]]; out[c] = Σ_k amounts[k] · those.
void gather(int64_t count, const double* amounts, const int32_t* contexts, const double* table, int64_t stride,
            const int32_t* labels, int64_t C, double* rows, double* out) {
    for (int64_t c = 0; c < C; c += Lanes<double>::width) {
        Vec<double> sum = {};
        for (int64_t k = 0; k < count; ++k) {
            const Vec<double> row = pick(table + contexts[k] * stride, labels + c);
            put(rows + k * C + c, row);
            sum += splat(amounts[k]) * row;
        }
        put(out + c, sum);
    }
}

// sums[k][labels[c]] += amounts[k] · rows[k · stride + c] for c < C. The labels differ.
void scatter(int64_t count, const double* amounts, const double* rows, int64_t stride, const int32_t* labels,
             int64_t C, double* const* sums) {
    for (int64_t k = 0; k < count; ++k, rows += stride) {
        const double amount = amounts[k];
        double* const sum = sums[k];
        for (int64_t c = 0; c < C; ++c) sum[labels[c]] += amount * rows[c];
    }
}

// sums[k][c] += amounts[k] · rows[k][c] · values[c].
void add_products(int64_t count, const double* amounts, const double* const* rows, const double* values, int64_t C,
                  double* const* sums) {
    constexpr int64_t width = Lanes<double>::width;
    for (int64_t c = 0; c < C; c += 2 * width) {
        const bool both = c + width < C;
        const Vec<double> first = loose(values + c), second = both ? loose(values + c + width) : first;
        for (int64_t k = 0; k < count; ++k) {
            const Vec<double> amount = splat(amounts[k]);
            double* const sum = sums[k] + c;
            put(sum, loose(sum) + amount * first * loose(rows[k] + c));
            if (both) put(sum + width, loose(sum + width) + amount * second * loose(rows[k] + c + width));
        }
    }
}

// out[c] = max_k (amounts[k] + rows[k][c]).
void best_of(int64_t count, const double* amounts, const double* const* rows, int64_t C, double* out) {
    for (int64_t c = 0; c < C; c += Lanes<double>::width) {
        Vec<double> best = splat(-kInf);
        for (int64_t k = 0; k < count; ++k) best = larger(best, splat(amounts[k]) + loose(rows[k] + c));
        put(out + c, best);
    }
}

// The largest, and the smallest above 0, of numbers of 0 or more.
void extremes(const double* values, int64_t C, double& high, double& low) {
    Vec<double> highest = {}, lowest = splat(kInf);
    for (int64_t c = 0; c < C; c += Lanes<double>::width) {
        const Vec<double> value = loose(values + c);
        highest = larger(highest, value);
        lowest = smaller(lowest, value > 0 ? value : splat(kInf));
    }
    high = largest_of(highest);
    low = smallest_of(lowest);
}

// values[c] *= factor.
void scale(double* values, int64_t C, double factor) {
    for (int64_t c = 0; c < C; c += Lanes<double>::width) put(values + c, loose(values + c) * splat(factor));
}

// beta[c] *= factor; edges[c] *= beta[c]; returns Σ_c alpha[c] · beta[c].
double weigh(int64_t C, const double* alpha, double factor, double* beta, double* edges) {
    Vec<double> total = {};
    for (int64_t c = 0; c < C; c += Lanes<double>::width) {
        const Vec<double> scaled = loose(beta + c) * splat(factor);
        put(beta + c, scaled);
        put(edges + c, loose(edges + c) * scaled);
        total += loose(alpha + c) * scaled;
    }
    return sum_of(total);
}

// out[k · C + c] = alpha · beta · factor of the same place; sums[c] = Σ_k of those.
void share(int64_t count, int64_t C, const double* alpha, const double* beta, double factor, double* out,
           double* sums) {
    for (int64_t c = 0; c < C; c += Lanes<double>::width) {
        Vec<double> sum = {};
        for (int64_t k = 0; k < count; ++k) {
            const int64_t place = k * C + c;
            const Vec<double> p = loose(alpha + place) * loose(beta + place) * splat(factor);
            put(out + place, p);
            sum += p;
        }
        put(sums + c, sum);
    }
}

// out[c] = exp(values[c]).
void exps(const double* values, int64_t C, double* out) {
    const Powers<double> none(0.0);
    for (int64_t c = 0; c < C; c += Lanes<double>::width) put(out + c, none.exp(loose(values + c)));
}
