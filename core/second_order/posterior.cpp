#include "second_order/posterior.h"

#include "runtime/growing.h"
#include "runtime/pool.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tagline {

namespace {

// Numbers in exp space: α and β, scaled to at most 1, keep above kLeast; emissions above kLeastEmission; the factors of
// transitions and triples between 10^−25 and 10^25 (Triples::kWidest). So no product of them is below 10^−300.
constexpr double kLeast = 1e-150, kLeastEmission = 1e-100;

}  // namespace

bool PairPosterior::find_power(const double* values, int64_t count, int& power) const {
    double high, low;
    kernels_.extremes(values, count, high, low);
    power = 0;
    if (high == 0) return true;
    std::frexp(high, &power);
    return low * std::ldexp(1.0, -power) >= kLeast;
}

void PairPosterior::use(const Scores<double>& common, const Triples& triples) {
    triples_ = &triples;
    fits_ = triples.fits();
    rows_.use(triples, kernels_);
    const size_t most = size_t(triples.labels()) + 1;
    products_.resize(most);
    shares_.resize(most);
    sums_.resize(most);
    exp_transitions_.clear();
    if (common.per_position) return;
    const int64_t pairs = common.L * common.L, padded = Triples::padded(pairs);
    exp_transitions_.assign(size_t(padded), 0.0);
    for (int64_t k = 0; k < pairs; ++k) {
        const double score = common.transitions[k];
        exp_transitions_[size_t(k)] = score;
        fits_ = fits_ && (score == -kInf || std::abs(score) < Triples::kWidest);
    }
    kernels_.exps(exp_transitions_.data(), padded, exp_transitions_.data());
}

// exp(emission − the highest) of the candidates of token t; false where one is too small.
bool PairPosterior::prepare_emissions(int64_t t, double& high) {
    const int64_t C = lattice_.count(t);
    const int32_t* labels = lattice_.labels(t);
    const double* emissions = lattice_.scores().emissions + t * lattice_.scores().L;
    high = -kInf;
    for (int64_t c = 0; c < C; ++c) high = std::max(high, emissions[labels[c]]);
    double* out = at_least(emissions_, triples_->stride());
    for (int64_t c = 0; c < lattice_.width(t); ++c) out[c] = emissions[labels[c]] - high;
    kernels_.exps(out, lattice_.width(t), out);
    bool good = true;
    for (int64_t c = 0; c < C; ++c) good &= out[c] >= kLeastEmission;
    return good;
}

// E_t(b, ·), padded with zeros; false where a transition's factor is too large or too small.
bool PairPosterior::edge_row(int64_t t, int64_t b, double* out) const {
    const int64_t C = lattice_.count(t), L = lattice_.scores().L;
    const int32_t* labels = lattice_.labels(t);
    const double* emissions = emissions_.data();
    std::fill(out + C, out + lattice_.width(t), 0.0);
    const int64_t from = lattice_.label(t - 1, b);
    if (!lattice_.scores().per_position) {
        const double* row = exp_transitions_.data() + from * L;
        if (lattice_.all(t))
            for (int64_t c = 0; c < C; ++c) out[c] = row[c] * emissions[c];
        else
            for (int64_t c = 0; c < C; ++c) out[c] = row[labels[c]] * emissions[c];
        return true;
    }
    const double* row = lattice_.transitions(t) + from * L;
    bool good = true;
    for (int64_t c = 0; c < C; ++c) {
        const double score = row[labels[c]];
        good &= score == -kInf || std::abs(score) < Triples::kWidest;
        out[c] = std::exp(score) * emissions[c];
    }
    return good;
}

// α_t(b, ·) for t ≥ 2, with E_t(b, ·) given.
void PairPosterior::step_forward(int64_t t, int64_t b, double* out) {
    const int64_t W = lattice_.width(t);
    const double* edge = edges_.data() + lattice_.row(t, b);
    rows_.list(t, b, alpha_.data() + lattice_.pair(t - 1, 0, b), lattice_.width(t - 1));
    rows_.sum(t, out);
    for (int64_t c = 0; c < W; ++c) out[c] *= edge[c];
}

Status PairPosterior::forward(double& log_z) {
    if (!fits_) return Status::guard;
    const int64_t T = lattice_.T();
    double *alpha = at_least(alpha_, lattice_.size()), *edges = at_least(edges_, lattice_.size());
    double total = 0;
    int64_t exponent = 0;
    scales_.resize(size_t(T));
    rows_.enter(lattice_);
    for (int64_t t = 0; t < T; ++t) {
        if (stopped(stop_)) return Status::stopped;
        const int64_t B = lattice_.count(t - 1), C = lattice_.count(t), W = lattice_.width(t);
        double high = 0;
        if (!prepare_emissions(t, high)) return Status::guard;
        total += high;
        for (int64_t b = 0; b < B; ++b) {
            double *out = alpha + lattice_.row(t, b), *edge = edges + lattice_.row(t, b);
            if (t == 0) {
                std::fill(out, out + W, 0.0);
                for (int64_t c = 0; c < C; ++c) {
                    const double score = lattice_.scores().start[lattice_.label(0, c)];
                    if (score != -kInf && std::abs(score) >= Triples::kWidest) return Status::guard;
                    out[c] = std::exp(score) * emissions_[size_t(c)];
                }
                std::copy(out, out + W, edge);
                continue;
            }
            if (!edge_row(t, b, edge)) return Status::guard;
            if (t == 1)
                for (int64_t c = 0; c < W; ++c) out[c] = alpha[lattice_.pair(0, 0, b)] * edge[c];
            else
                step_forward(t, b, out);
        }
        int power = 0;
        if (!find_power(alpha + lattice_.row(t, 0), B * W, power)) return Status::guard;
        kernels_.scale(alpha + lattice_.row(t, 0), B * W, std::ldexp(1.0, -power));
        scales_[size_t(t)] = std::ldexp(1.0, power);
        exponent += power;
    }
    double sum = 0;
    const int64_t last = T - 1;
    for (int64_t c = 0; c < lattice_.count(last); ++c) {
        const double score = lattice_.end(c);
        if (score != -kInf && std::abs(score) >= Triples::kWidest) return Status::guard;
        double ways = 0;
        for (int64_t b = 0; b < lattice_.count(last - 1); ++b) ways += alpha[size_t(lattice_.pair(last, b, c))];
        sum += ways * std::exp(score);
    }
    if (sum == 0) return Status::no_path;
    log_z = total + std::log(sum) + double(exponent) * std::numbers::ln2;
    return Status::done;
}

Status PairPosterior::begin(const Scores<double>& sentence, double& log_z) {
    if (!lattice_.enter(sentence)) return Status::no_path;
    const Status status = forward(log_z);
    in_logs_ = status == Status::guard;
    return in_logs_ ? forward_in_logs(log_z) : status;
}

Status PairPosterior::compute(const Scores<double>& sentence, const Answers<double>& want, double* triple_counts,
                              double factor) {
    double log_z = 0;
    Status status = begin(sentence, log_z);
    if (status != Status::done) return status;
    *want.log_z = log_z;
    if (!want.nodes && !want.edges && !want.entropy && !want.transition_counts && !triple_counts) return status;
    if (!in_logs_) {
        status = backward();
        in_logs_ = status == Status::guard;
        if (in_logs_) status = forward_in_logs(log_z);
        if (status != Status::done) return status;
    }
    if (in_logs_ && (status = backward_in_logs()) != Status::done) return status;
    return tell(want, triple_counts, factor, log_z);
}

}  // namespace tagline
