// The engine without Python, for compilers and systems where there is none to test it with: log Z, marginals and best
// labellings of random chains against sums over all labellings, and against the textbook's recursion where those are too
// many; for every variant of the kernels, both types of numbers, one thread and three. Prints what it compared, and
// returns 1 after the first difference.
#include "chain/batch.h"
#include "chain/variants.h"
#include "runtime/pool.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

using namespace tagline;

bool check_levels();  // processor.cpp

namespace {

int64_t compared = 0;

void expect(bool holds, const char* what, int64_t L, int64_t b, double got, double wanted) {
    ++compared;
    if (holds) return;
    std::printf("%s, %s: %d labels, sentence %d: got %.17g, expected %.17g\n", active_variant().name, what, int(L), int(b),
                got, wanted);
    std::exit(1);
}

template <class Real>
struct RandomChains {
    int64_t B, L;
    std::vector<Real> emissions, transitions, start, end;
    std::vector<int64_t> offsets{0};

    RandomChains(int64_t B, int64_t L, int64_t longest, std::mt19937_64& random)
        : B(B), L(L), transitions(size_t(L * L)), start(size_t(L)), end(size_t(L)) {
        const auto draw = [&] { return Real(double(random() % 8000) / 1000 - 4); };
        for (int64_t b = 0; b < B; ++b) offsets.push_back(offsets.back() + 1 + int64_t(random() % uint64_t(longest)));
        emissions.resize(size_t(offsets.back() * L));
        for (auto* values : {&emissions, &transitions, &start, &end})
            for (Real& value : *values) value = draw();
        for (int64_t i = 0; i < L; ++i)  // some pairs are forbidden, never all of a label
            for (int64_t j = 0; j < L; ++j)
                if ((i + 2 * j) % 7 == 3 && i != j) transitions[size_t(i * L + j)] = Real(-kInf);
    }

    Batch<Real> batch() const {
        return {emissions.data(), transitions.data(), start.data(), end.data(), offsets.data(), B, L, false};
    }
    double emission(int64_t n, int64_t j) const { return double(emissions[size_t(n * L + j)]); }
    double transition(int64_t i, int64_t j) const { return double(transitions[size_t(i * L + j)]); }
};

double add_logs(double a, double b) {
    const double high = std::max(a, b);
    return high == -kInf ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

struct Reference {
    double log_z = -kInf, best = -kInf;
    std::vector<double> nodes;  // [T, L]
};

// Every labelling, one after the other.
template <class Real>
Reference by_enumeration(const RandomChains<Real>& chains, int64_t first, int64_t T) {
    const int64_t L = chains.L;
    Reference of;
    std::vector<double> weights(size_t(T * L), -kInf);
    std::vector<int64_t> labels(size_t(T), 0);
    for (;;) {
        double total = double(chains.start[size_t(labels[0])]) + double(chains.end[size_t(labels[size_t(T) - 1])]);
        for (int64_t t = 0; t < T; ++t) total += chains.emission(first + t, labels[size_t(t)]);
        for (int64_t t = 1; t < T; ++t) total += chains.transition(labels[size_t(t) - 1], labels[size_t(t)]);
        of.log_z = add_logs(of.log_z, total);
        of.best = std::max(of.best, total);
        for (int64_t t = 0; t < T; ++t) {
            double& weight = weights[size_t(t * L + labels[size_t(t)])];
            weight = add_logs(weight, total);
        }
        int64_t t = 0;
        while (t < T && ++labels[size_t(t)] == L) labels[size_t(t++)] = 0;
        if (t == T) break;
    }
    for (double weight : weights) of.nodes.push_back(std::exp(weight - of.log_z));
    return of;
}

// α of a token from that of the one before.
template <class Real>
Reference by_recursion(const RandomChains<Real>& chains, int64_t first, int64_t T) {
    const int64_t L = chains.L;
    std::vector<double> sums, highs;
    for (int64_t t = 0; t < T; ++t) {
        std::vector<double> sums_now(size_t(L), -kInf), highs_now(size_t(L), -kInf);
        for (int64_t j = 0; j < L; ++j) {
            if (t == 0) sums_now[size_t(j)] = highs_now[size_t(j)] = double(chains.start[size_t(j)]);
            for (int64_t i = 0; t > 0 && i < L; ++i) {
                sums_now[size_t(j)] = add_logs(sums_now[size_t(j)], sums[size_t(i)] + chains.transition(i, j));
                highs_now[size_t(j)] = std::max(highs_now[size_t(j)], highs[size_t(i)] + chains.transition(i, j));
            }
            sums_now[size_t(j)] += chains.emission(first + t, j);
            highs_now[size_t(j)] += chains.emission(first + t, j);
        }
        sums = sums_now, highs = highs_now;
    }
    Reference of;
    for (int64_t j = 0; j < L; ++j) {
        of.log_z = add_logs(of.log_z, sums[size_t(j)] + double(chains.end[size_t(j)]));
        of.best = std::max(of.best, highs[size_t(j)] + double(chains.end[size_t(j)]));
    }
    return of;
}

template <class Real>
void compare(const RandomChains<Real>& chains, bool enumerate) {
    const int64_t N = chains.offsets.back(), L = chains.L;
    const double relative = sizeof(Real) == 4 ? 1e-6 : 1e-13, absolute = sizeof(Real) == 4 ? 1e-5 : 1e-11;
    std::vector<Real> nodes[2];
    std::vector<double> log_z(size_t(chains.B)), scores(size_t(chains.B));
    std::vector<int64_t> labels(static_cast<size_t>(N));
    for (int run : {0, 1}) {
        set_threads(run ? 3 : 1);
        nodes[run].resize(size_t(N * L));
        BatchAnswers<Real> want;
        want.log_z = log_z.data();
        want.nodes = nodes[run].data();
        posterior(chains.batch(), want, {});
        viterbi(chains.batch(), labels.data(), scores.data(), {});
    }
    expect(std::memcmp(nodes[0].data(), nodes[1].data(), nodes[0].size() * sizeof(Real)) == 0, "threads", L, -1, 0, 0);
    for (int64_t b = 0; b < chains.B; ++b) {
        const int64_t first = chains.offsets[size_t(b)], T = chains.offsets[size_t(b) + 1] - first;
        const Reference of = enumerate ? by_enumeration(chains, first, T) : by_recursion(chains, first, T);
        const double got = log_z[size_t(b)], score = scores[size_t(b)];
        expect(std::abs(got - of.log_z) <= absolute + relative * std::abs(of.log_z), "log Z", L, b, got, of.log_z);
        expect(std::abs(score - of.best) <= absolute + relative * std::abs(of.best), "Viterbi", L, b, score, of.best);
        for (int64_t k = 0; k < int64_t(of.nodes.size()); ++k) {
            const double node = double(nodes[0][size_t(first * L + k)]), wanted = of.nodes[size_t(k)];
            expect(std::abs(node - wanted) <= absolute, "marginal", L, b, node, wanted);
        }
    }
}

template <class Real>
void compare_all() {
    std::mt19937_64 random(7);
    for (int64_t L : {1, 2, 3, 4}) compare(RandomChains<Real>(37, L, 5, random), true);
    for (int64_t L : {5, 8, 9, 16, 17, 22, 33, 64, 65, 130}) compare(RandomChains<Real>(37, L, 30, random), false);
    compare(RandomChains<Real>(2, 9, 3000, random), false);
}

}  // namespace

int main() {
    if (!check_levels()) return 1;
    for (const Variant* variant : supported_variants()) {
        use_variant(variant->name);
        compared = 0;
        compare_all<float>();
        compare_all<double>();
        std::printf("%s: %lld comparisons hold\n", variant->name, static_cast<long long>(compared));
    }
    return supported_variants().empty();
}
