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

// sums[k][c] += amounts[k] · rows[k][c] · values[c].
void add_products(int64_t count, const double* amounts, const double* const* rows, const double* values, int64_t C,
                  double* const* sums) {
    for (int64_t k = 0; k < count; ++k) {
        const Vec<double> amount = splat(amounts[k]);
        for (int64_t c = 0; c < C; c += Lanes<double>::width)
            put(sums[k] + c, loose(sums[k] + c) + amount * loose(rows[k] + c) * loose(values + c));
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
