// Gaussians with diagonal covariance as emissions of an HMM: log densities in, moments out. Included by kernels.cpp.
//
//     e_t(j) = c_j − Σ_d ((x_td − μ_jd) s_jd)²      with s = 1 / (σ √2) and c_j = −Σ_d log(σ_jd √(2π))
//     moments(j): Σ_t P(y_t = j), and for each d  Σ_t P(y_t = j) (x_td − μ_jd)  and the same of squares
// Differences are taken before squares, as the definition has it: nothing cancels. Labels lie across lanes.

template <int kVectors>
inline void log_density_tile(const PaddedGaussians& of, const double* x, int64_t S, int64_t n, double* row) {
    Vec<double> total[kVectors];
    repeat<kVectors>([&]<int v>() TAGLINE_INLINED { total[v] = at(of.constants, n + v); });
    for (int64_t d = 0; d < of.D; ++d) {
        const Vec<double> value = splat(x[d]);
        repeat<kVectors>([&]<int v>() TAGLINE_INLINED {
            const Vec<double> z = (value - at(of.means + d * S, n + v)) * at(of.scales + d * S, n + v);
            total[v] -= z * z;
        });
    }
    repeat<kVectors>([&]<int v>() TAGLINE_INLINED { at(row, n + v) = total[v]; });
}

// Log densities of one vector, in a padded row.
inline void log_density(const PaddedGaussians& of, const double* x, int64_t S, double* row) {
    const int64_t vectors = S / Lanes<double>::width;
    int64_t n = 0;
    for (; n + 4 <= vectors; n += 4) log_density_tile<4>(of, x, S, n, row);
    for (; n + 2 <= vectors; n += 2) log_density_tile<2>(of, x, S, n, row);
    if (n < vectors) log_density_tile<1>(of, x, S, n, row);
}

// The same of T vectors, [T, L].
void log_densities(const PaddedGaussians& of, const double* x, int64_t T, int64_t L, double* out, Arena& scratch) {
    const int64_t S = padded<double>(L);
    double* row = take<double>(scratch, S);
    for (int64_t t = 0; t < T; ++t, x += of.D, out += L) {
        log_density(of, x, S, row);
        for (int64_t j = 0; j < L; ++j) out[j] = row[j];
    }
}

// Densities in exp space, as exp_rows has them; one that is 0 forbids a label.
inline Spread<double> exp_densities(const PaddedGaussians& of, const double* x, int64_t T, int64_t L, double* out,
                                    double* power, Arena& scratch) {
    const int64_t S = padded<double>(L);
    return exp_rows<double>(
        T, L, S, out, power, [&](int64_t t, double* row) { log_density(of, x + t * of.D, S, row); },
        [&](int64_t t) {
            double* row = take<double>(scratch, S);
            log_density(of, x + t * of.D, S, row);
            return extremes_of(row, L).range();
        });
}

template <int kVectors>
inline void add_moments_tile(const PaddedGaussians& of, const double* x, const double* nodes, int64_t T, int64_t S,
                             int64_t n, double* sums) {
    Vec<double> mass[kVectors] = {};
    for (int64_t t = 0; t < T; ++t)
        for (int v = 0; v < kVectors; ++v) mass[v] += at(nodes + t * S, n + v);
    for (int v = 0; v < kVectors; ++v) at(sums, n + v) += mass[v];
    for (int64_t d = 0; d < of.D; ++d) {
        Vec<double> mean[kVectors], first[kVectors] = {}, second[kVectors] = {};
        for (int v = 0; v < kVectors; ++v) mean[v] = at(of.means + d * S, n + v);
        for (int64_t t = 0; t < T; ++t)
            for (int v = 0; v < kVectors; ++v) {
                const Vec<double> away = splat(x[t * of.D + d]) - mean[v];
                const Vec<double> share = at(nodes + t * S, n + v) * away;
                first[v] += share;
                second[v] += share * away;
            }
        for (int v = 0; v < kVectors; ++v) {
            at(sums + (1 + d) * S, n + v) += first[v];
            at(sums + (1 + of.D + d) * S, n + v) += second[v];
        }
    }
}

// sums [1 + 2 D, S] += the moments of a sentence with P(y_t) in nodes [T, S].
void add_moments(const PaddedGaussians& of, const double* x, const double* nodes, int64_t T, int64_t L, double* sums) {
    const int64_t S = padded<double>(L), vectors = S / Lanes<double>::width;
    int64_t n = 0;
    for (; n + 4 <= vectors; n += 4) add_moments_tile<4>(of, x, nodes, T, S, n, sums);
    for (; n + 2 <= vectors; n += 2) add_moments_tile<2>(of, x, nodes, T, S, n, sums);
    if (n < vectors) add_moments_tile<1>(of, x, nodes, T, S, n, sums);
}
