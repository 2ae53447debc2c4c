#include "second_order/posterior.h"

#include "runtime/pool.h"
#include "training/scoring.h"

#include <algorithm>
#include <cmath>

namespace tagline {

namespace {

// Numbers in exp space: α and β, scaled to at most 1, keep above kLeast; emissions above kLeastEmission; the factors of
// transitions and triples between 10^−25 and 10^25 (Triples::kWidest). So no product of them is below 10^−300.
constexpr double kLeast = 1e-150, kLeastEmission = 1e-100;

}  // namespace

bool rescale(double* values, int64_t count, int64_t& exponent) {
    double high = 0;
    for (int64_t k = 0; k < count; ++k) high = std::max(high, values[k]);
    if (high == 0) return true;
    int power = 0;
    std::frexp(high, &power);
    exponent += power;
    const double factor = std::ldexp(1.0, -power);
    bool good = true;
    for (int64_t k = 0; k < count; ++k) {
        values[k] *= factor;
        good &= values[k] == 0 || values[k] >= kLeast;
    }
    return good;
}

void PairPosterior::use(const Scores<double>& common, const Triples& triples) {
    triples_ = &triples;
    fits_ = triples.fits();
    ones_.assign(size_t(triples.stride()), 1.0);
    exp_transitions_.clear();
    if (common.per_position) return;
    exp_transitions_.resize(size_t(common.L * common.L));
    for (size_t k = 0; k < exp_transitions_.size(); ++k) {
        const double score = common.transitions[k];
        exp_transitions_[k] = std::exp(score);
        fits_ = fits_ && (score == -kInf || std::abs(score) < Triples::kWidest);
    }
}

// exp(emission − the highest) of the candidates of token t; false where one is too small.
bool PairPosterior::prepare_emissions(int64_t t, double* high) {
    const int64_t C = lattice_.count(t), L = lattice_.scores().L;
    const double* emissions = lattice_.scores().emissions + t * L;
    double top = -kInf;
    for (int64_t c = 0; c < C; ++c) top = std::max(top, emissions[lattice_.label(t, c)]);
    double* out = at_least(emissions_, triples_->stride());
    bool good = true;
    for (int64_t c = 0; c < C; ++c) {
        out[c] = std::exp(emissions[lattice_.label(t, c)] - top);
        good &= out[c] >= kLeastEmission;
    }
    if (high) *high = top;
    return good;
}

// E_t(b, ·), padded with zeros; false where a transition's factor is too large or too small.
bool PairPosterior::edge_row(int64_t t, int64_t b) {
    const int64_t C = lattice_.count(t), L = lattice_.scores().L;
    double* out = at_least(edge_, triples_->stride());
    std::fill(out + C, out + lattice_.width(t), 0.0);
    const int32_t from = lattice_.label(t - 1, b);
    if (!lattice_.scores().per_position) {
        const double* row = exp_transitions_.data() + from * L;
        for (int64_t c = 0; c < C; ++c) out[c] = row[lattice_.label(t, c)] * emissions_[size_t(c)];
        return true;
    }
    const double* row = lattice_.transitions(t) + from * L;
    bool good = true;
    for (int64_t c = 0; c < C; ++c) {
        const double score = row[lattice_.label(t, c)];
        good &= score == -kInf || std::abs(score) < Triples::kWidest;
        out[c] = std::exp(score) * emissions_[size_t(c)];
    }
    return good;
}

// The rows of X(a, b, ·) over the candidates of token t, for the a with α_(t−1)(a, b) > 0: rows_, amounts_, and which a
// they are. With `merge`, all a without triples share one row of ones, the last.
void PairPosterior::gather(int64_t t, int64_t b, bool merge) {
    const int64_t A = lattice_.count(t - 2), C = lattice_.count(t), W = lattice_.width(t);
    const bool all = lattice_.all(t);
    const int32_t* labels = lattice_.labels(t);
    double* compact = all ? nullptr : at_least(compact_, A * W);
    amounts_.clear();
    rows_.clear();
    before_.clear();
    contexts_.clear();
    double bare = 0;
    for (int64_t a = 0; a < A; ++a) {
        const double amount = alpha_[size_t(lattice_.pair(t - 1, a, b))];
        if (amount == 0) continue;
        const int32_t context = triples_->row(lattice_.label(t - 2, a), lattice_.label(t - 1, b));
        if (context < 0 && merge) {
            bare += amount;
            continue;
        }
        const double* row = ones_.data();
        if (context >= 0) {
            row = triples_->exps() + context * triples_->stride();
            if (!all) {
                for (int64_t c = 0; c < C; ++c) compact[c] = row[labels[c]];
                std::fill(compact + C, compact + W, 0.0);
                row = compact;
                compact += W;
            }
        }
        amounts_.push_back(amount);
        rows_.push_back(row);
        before_.push_back(a);
        contexts_.push_back(context);
    }
    if (bare > 0) {
        amounts_.push_back(bare);
        rows_.push_back(ones_.data());
    }
}

Status PairPosterior::forward(double& log_z) {
    if (!fits_) return Status::guard;
    const int64_t T = lattice_.T();
    double* alpha = at_least(alpha_, lattice_.size());
    double total = 0;
    int64_t exponent = 0;
    scales_.resize(size_t(T));
    for (int64_t t = 0; t < T; ++t) {
        if (stopped(stop_)) return Status::stopped;
        const int64_t B = lattice_.count(t - 1), C = lattice_.count(t), W = lattice_.width(t);
        double high = 0;
        if (!prepare_emissions(t, &high)) return Status::guard;
        total += high;
        for (int64_t b = 0; b < B; ++b) {
            double* out = alpha + lattice_.row(t, b);
            if (t == 0) {
                std::fill(out, out + W, 0.0);
                for (int64_t c = 0; c < C; ++c) {
                    const double score = lattice_.scores().start[lattice_.label(0, c)];
                    if (score != -kInf && std::abs(score) >= Triples::kWidest) return Status::guard;
                    out[c] = std::exp(score) * emissions_[size_t(c)];
                }
                continue;
            }
            if (!edge_row(t, b)) return Status::guard;
            if (t == 1) {
                amounts_.assign(1, alpha[size_t(lattice_.pair(0, 0, b))]);
                rows_.assign(1, ones_.data());
            } else {
                gather(t, b, true);
            }
            kernels_.combine(int64_t(rows_.size()), amounts_.data(), rows_.data(), W, out);
            for (int64_t c = 0; c < W; ++c) out[c] *= edge_[size_t(c)];
        }
        const int64_t before = exponent;
        if (!rescale(alpha + lattice_.row(t, 0), B * W, exponent)) return Status::guard;
        scales_[size_t(t)] = std::ldexp(1.0, int(exponent - before));
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
    log_z = total + std::log(sum) + double(exponent) * M_LN2;
    return Status::done;
}

Status PairPosterior::compute(const Scores<double>& sentence, const Answers<double>& want, double* triple_counts,
                                    double factor) {
    if (!lattice_.enter(sentence)) return Status::no_path;
    double log_z = 0;
    Status status = forward(log_z);
    in_logs_ = status == Status::guard;
    if (in_logs_) status = forward_in_logs(log_z);
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
