// The E step of HMMs, as Python sees it.
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "hmm/baum_welch.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <vector>

namespace tagline::bindings {

namespace {

using namespace nb::literals;
using Doubles = Result<double>;
using Counts = std::tuple<Doubles, Doubles, Doubles, Doubles>;

// What every sentence of an HMM shares, in the order in which every function takes it.
struct HmmArrays {
    const Array &start, &transitions, &end, &offsets;

    // `emissions` are N rows of L scores, or the rows that N symbols name.
    Batch<double> batch(const double* emissions, size_t N, size_t L) const {
        const int64_t labels = int64_t(L);
        if (labels < 1) throw nb::value_error("states: expected at least one, got none");
        Batch<double> out{};
        out.emissions = emissions;
        out.L = labels;
        out.transitions = checked<double>("transitions", transitions, {labels, labels});
        out.start = checked<double>("start", start, {labels});
        out.end = checked<double>("end", end, {labels});
        out.offsets = as_offsets(offsets, int64_t(N));
        out.B = int64_t(offsets.shape(0)) - 1;
        return out;
    }
};

// A batch whose emissions are rows of a table, with one more of zeros for tokens that observe nothing.
struct Symbols {
    std::vector<double> table;
    Batch<double> batch;

    Symbols(const Array& scores, const Array& ids, const HmmArrays& arrays) {
        const double* rows = checked<double>("table", scores, {-1, -1});
        const int64_t V = int64_t(scores.shape(0)), L = int64_t(scores.shape(1));
        const int64_t* symbols = checked<int64_t>("ids", ids, {-1});
        const int64_t N = int64_t(ids.shape(0));
        for (int64_t n = 0; n < N; ++n)
            if (symbols[n] < -1 || symbols[n] >= V)
                throw nb::value_error(("ids[" + std::to_string(n) + "]: expected -1 to " + std::to_string(V - 1) +
                                       ", got " + std::to_string(symbols[n]))
                                          .c_str());
        table.assign(rows, rows + V * L);
        table.resize(size_t((V + 1) * L), 0.0);
        batch = arrays.batch(table.data(), size_t(N), size_t(L));
        batch.symbols = symbols;
        batch.rows = V + 1;
    }
    Symbols(const Symbols&) = delete;
};

size_t tokens(const Batch<double>& batch) { return size_t(batch.offsets[batch.B]); }

// (log P [B], start [L], transitions [L, L], emissions): `want` says where the last ones go.
Counts counts(const Batch<double>& batch, const bool* allowed, const Gaussians* gaussians, ExpectedCounts want,
              const Doubles& emissions) {
    const size_t L = size_t(batch.L);
    Doubles log_z = make<double>({size_t(batch.B)}), start = make<double>({L}), transitions = make<double>({L, L});
    want.log_z = log_z.data();
    want.start = start.data();
    want.transitions = transitions.data();
    int64_t bad = -1;
    ask([&] {
        const CountsOutcome outcome = expected_counts(batch, allowed, gaussians, want, signalled);
        bad = outcome.bad;
        return outcome;
    });
    if (bad >= 0)
        throw nb::value_error(
            ("emissions: expected finite scores or -inf, got NaN or +inf in sequence " + std::to_string(bad)).c_str());
    return {log_z, start, transitions, emissions};
}

Counts hmm_counts(const Array& emissions, const Array& start, const Array& transitions, const Array& end,
                  const Array& offsets) {
    const double* rows = checked<double>("emissions", emissions, {-1, -1});
    const size_t N = emissions.shape(0), L = emissions.shape(1);
    const Batch<double> batch = HmmArrays{start, transitions, end, offsets}.batch(rows, N, L);
    Doubles nodes = make<double>({N, L});
    ExpectedCounts want{};
    want.nodes = nodes.data();
    return counts(batch, nullptr, nullptr, want, nodes);
}

Counts symbol_counts(const Array& table, const Array& ids, const Array& start, const Array& transitions,
                     const Array& end, const Array& offsets, const std::optional<Array>& allowed) {
    const Symbols symbols(table, ids, {start, transitions, end, offsets});
    const int64_t N = int64_t(tokens(symbols.batch));
    const bool* sets = allowed ? checked<bool>("allowed", *allowed, {N, symbols.batch.L}) : nullptr;
    Doubles emissions = make<double>({table.shape(0), table.shape(1)});
    ExpectedCounts want{};
    want.emissions = emissions.data();
    return counts(symbols.batch, sets, nullptr, want, emissions);
}

Counts gaussian_counts(const Array& x, const Array& means, const Array& variances, const Array& start,
                       const Array& transitions, const Array& end, const Array& offsets) {
    const double* middles = checked<double>("means", means, {-1, -1});
    const int64_t K = int64_t(means.shape(0)), D = int64_t(means.shape(1));
    const Gaussians gaussians{checked<double>("x", x, {-1, D}), middles,
                              checked<double>("variances", variances, {K, D}), D};
    const Batch<double> batch = HmmArrays{start, transitions, end, offsets}.batch(nullptr, x.shape(0), size_t(K));
    Doubles moments = make<double>({size_t(1 + 2 * D), size_t(K)});
    ExpectedCounts want{};
    want.moments = moments.data();
    return counts(batch, nullptr, &gaussians, want, moments);
}

Doubles log_densities(const Array& x, const Array& means, const Array& variances) {
    const double* middles = checked<double>("means", means, {-1, -1});
    const int64_t K = int64_t(means.shape(0)), D = int64_t(means.shape(1));
    const Gaussians gaussians{checked<double>("x", x, {-1, D}), middles,
                              checked<double>("variances", variances, {K, D}), D};
    if (K < 1) throw nb::value_error("states: expected at least one, got none");
    Doubles out = make<double>({x.shape(0), size_t(K)});
    bool finished;
    {
        const nb::gil_scoped_release release;
        finished = tagline::log_densities(gaussians, int64_t(x.shape(0)), K, out.data(), signalled);
    }
    if (!finished) throw nb::python_error();
    return out;
}

Doubles symbol_log_partition(const Array& table, const Array& ids, const Array& start, const Array& transitions,
                             const Array& end, const Array& offsets) {
    const Symbols symbols(table, ids, {start, transitions, end, offsets});
    Doubles log_z = make<double>({size_t(symbols.batch.B)});
    BatchAnswers<double> want;
    want.log_z = log_z.data();
    ask([&] { return posterior(symbols.batch, want, signalled); }, true);
    return log_z;
}

std::tuple<Result<int64_t>, Doubles> symbol_viterbi(const Array& table, const Array& ids, const Array& start,
                                                    const Array& transitions, const Array& end, const Array& offsets) {
    const Symbols symbols(table, ids, {start, transitions, end, offsets});
    Result<int64_t> labels = make<int64_t>({tokens(symbols.batch)});
    Doubles scores = make<double>({size_t(symbols.batch.B)});
    ask([&] { return viterbi(symbols.batch, labels.data(), scores.data(), signalled); });
    return {labels, scores};
}

}  // namespace

#define TAGLINE_HMM_ARGS "start"_a, "transitions"_a, "end"_a, "offsets"_a

void bind_baum_welch(nb::module_& m) {
    m.def("hmm_counts", hmm_counts, "emissions"_a, TAGLINE_HMM_ARGS,
          "Compute (log P [B], start [K], transitions [K, K], nodes [N, K]) from logarithms.");
    m.def("symbol_counts", symbol_counts, "table"_a, "ids"_a, TAGLINE_HMM_ARGS, "allowed"_a.none(),
          "Compute (log P [B], start [K], transitions [K, K], emissions [V, K]) of symbols; -1: none observed.");
    m.def("gaussian_counts", gaussian_counts, "x"_a, "means"_a, "variances"_a, TAGLINE_HMM_ARGS,
          "Compute (log P [B], start [K], transitions [K, K], moments [1 + 2 D, K]) of vectors x [N, D]: "
          "sums of P, of P (x - mean) and of P (x - mean)^2.");
    m.def("log_densities", log_densities, "x"_a, "means"_a, "variances"_a,
          "Compute log densities [N, K] of vectors x [N, D] under Gaussians with diagonal covariance.");
    m.def("symbol_log_partition", symbol_log_partition, "table"_a, "ids"_a, TAGLINE_HMM_ARGS,
          "Compute log P [B] of symbols; -inf where they are impossible.");
    m.def("symbol_viterbi", symbol_viterbi, "table"_a, "ids"_a, TAGLINE_HMM_ARGS,
          "Find the best states of symbols: (states [N], scores [B]).");
}

}  // namespace tagline::bindings
