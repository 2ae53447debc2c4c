// Gaussians as in gaussians.h for sentences abreast: one sentence a lane. Log densities have the bits of those there.
// Included by kernels.cpp.

// Log densities of one vector a lane, x [D, W], out [L, W].
inline void log_density_abreast(const PaddedGaussians& of, const double* x, int64_t L, int64_t S, double* out) {
    in_tiles<kTile == 4 ? 12 : 6>(0, L, [&]<int kLabels>(int64_t j) TAGLINE_INLINED {
        Vec<double> total[kLabels];
        repeat<kLabels>([&]<int k>() TAGLINE_INLINED { total[k] = splat(of.constants[j + k]); });
        for (int64_t d = 0; d < of.D; ++d) {
            const Vec<double> value = at(x, d);
            const double *means = of.means + d * S + j, *scales = of.scales + d * S + j;
            repeat<kLabels>([&]<int k>() TAGLINE_INLINED {
                const Vec<double> z = (value - splat(means[k])) * splat(scales[k]);
                total[k] -= z * z;
            });
        }
        repeat<kLabels>([&]<int k>() TAGLINE_INLINED { at(out, j + k) = total[k]; });
    });
}

// Sums of a few labels and dimensions over tokens and lanes, added to `sums`; x [T, D, W], nodes [T, L, W].
template <int kLabels, int kDimensions>
inline void add_moments_abreast_tile(const PaddedGaussians& of, const double* x, const double* nodes, int64_t T,
                                     int64_t L, int64_t j, int64_t d, double* sums) {
    constexpr int W = Lanes<double>::width;
    const int64_t S = padded<double>(L);
    Vec<double> first[kLabels * kDimensions], second[kLabels * kDimensions];
    repeat<kLabels * kDimensions>([&]<int k>() TAGLINE_INLINED { first[k] = second[k] = Vec<double>{}; });
    for (int64_t t = 0; t < T; ++t) {
        const double *share = nodes + (t * L + j) * W, *value = x + (t * of.D + d) * W;
        repeat<kDimensions>([&]<int e>() TAGLINE_INLINED {
            const double* means = of.means + (d + e) * S + j;
            repeat<kLabels>([&]<int k>() TAGLINE_INLINED {
                constexpr int n = e * kLabels + k;
                const Vec<double> away = at(value, e) - splat(means[k]), weighed = at(share, k) * away;
                first[n] += weighed;
                second[n] += weighed * away;
            });
        });
    }
    repeat<kDimensions>([&]<int e>() TAGLINE_INLINED {
        repeat<kLabels>([&]<int k>() TAGLINE_INLINED {
            sums[(1 + d + e) * S + j + k] += sum_of(first[e * kLabels + k]);
            sums[(1 + of.D + d + e) * S + j + k] += sum_of(second[e * kLabels + k]);
        });
    });
}

// sums [1 + 2 D, S] += the moments of sentences abreast.
inline void add_moments_abreast(const PaddedGaussians& of, const double* x, const double* nodes, int64_t T, int64_t L,
                                double* sums) {
    constexpr int W = Lanes<double>::width;
    for (int64_t j = 0; j < L; ++j) {
        Vec<double> mass{};
        for (int64_t t = 0; t < T; ++t) mass += at(nodes + (t * L + j) * W, 0);
        sums[j] += sum_of(mass);
    }
    in_tiles<kTile == 4 ? 4 : 2>(0, L, [&]<int kLabels>(int64_t j) {
        in_tiles<2>(0, of.D, [&]<int kDimensions>(int64_t d) {
            add_moments_abreast_tile<kLabels, kDimensions>(of, x, nodes, T, L, j, d, sums);
        });
    });
}
