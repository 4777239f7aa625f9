#include "announce/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rounded.h"

namespace trilith::announce {
namespace {

using packing::PackingSpec;
using packing::QuantMatrix;
using packing::Symbol;

class Verifier {
 public:
  explicit Verifier(const Claim& claim) : claim_(claim), codes_(claim.stored.at("codes")) {}

  Result<Verified> run(QuantMatrix* decoded) {
    TRILITH_ASSIGN_OR_RETURN(QuantMatrix matrix,
                             packing::decode(claim_.spec, claim_.stored, claim_.rows, claim_.cols));
    result_.codes = code_figures(matrix);
    result_.scales = scale_figures(matrix.scales);
    result_.unused = matrix.unused_codes();
    passed("sizes", "shapes and types of the stored tensors",
           {{"rows", claim_.rows}, {"columns", claim_.cols}});
    check_padding(matrix);
    check_scales();
    check_zero_points(matrix);
    check_spread(matrix);
    check_range(matrix);
    check_pages();
    check_centre(matrix);
    check_direction();
    if (decoded != nullptr) *decoded = std::move(matrix);
    return std::move(result_);
  }

 private:
  void passed(std::string field, std::string test, std::initializer_list<Json::Member> numbers) {
    result_.findings.push_back({std::move(field), std::move(test), Json::object(numbers)});
  }
  void fail(Error error) {
    if (!result_.contradiction) result_.contradiction = std::move(error).with_tensor(codes_.name);
  }
  static Error contradicts(std::string message, std::string expected, std::string found) {
    return Error::damaged("the bytes contradict the announced format: " + std::move(message))
        .with_expected(std::move(expected))
        .with_found(std::move(found));
  }

  // Whether unused slots hold what the writer leaves there: encoding what was decoded must give the
  // stored bytes back.
  void check_padding(const QuantMatrix& matrix) {
    const double used = static_cast<double>(claim_.rows) * static_cast<double>(claim_.cols) *
                        static_cast<double>(claim_.spec.bits) / 8;
    const bool bare = claim_.spec.law.fields.empty() && claim_.spec.law.line_fields.empty() &&
                      claim_.spec.law.tensor_fields.empty();
    if (!bare || claim_.spec.bits == 0 || claim_.spec.symbol == Symbol::kFloatContainer ||
        !claim_.spec.law.sub_planes.empty() || static_cast<double>(codes_.bytes.size()) <= used) {
      return;
    }
    const auto again = packing::encode(claim_.spec, matrix);
    if (!again.ok()) return;
    const auto& bytes = again->at("codes").bytes;
    const auto [found, expected] =
        std::mismatch(codes_.bytes.begin(), codes_.bytes.end(), bytes.begin(), bytes.end());
    if (found == codes_.bytes.end() && expected == bytes.end()) {
      passed("pad", "unused slots hold the padding code",
             {{"bytes", static_cast<double>(codes_.bytes.size()) - used}});
      return;
    }
    fail(contradicts("unused slots are not padding", fmt::format("code {}", claim_.spec.pad.code),
                     fmt::format("another at byte {}", found - codes_.bytes.begin())));
  }

  void check_scales() {
    const ScaleFigures& scales = result_.scales;
    if (scales.count == 0) return;
    const auto sign = claim_.promises.scale_sign;
    const bool exponent = claim_.spec.scale.op == packing::Scale::Op::kMultiplyPowerOfTwo;
    if (sign != Promises::Sign::kAny && !exponent &&
        (scales.negative > 0 || (sign == Promises::Sign::kPositive && scales.zero > 0))) {
      fail(contradicts(
          "scales have the wrong sign",
          sign == Promises::Sign::kPositive ? "positive scales" : "scales of at least 0",
          fmt::format("{} negative and {} zero of {}", scales.negative, scales.zero,
                      scales.count)));
      return;
    }
    passed("scale", "finite, and of the sign that the writer gives them",
           {{"count", scales.count},
            {"min", rounded(scales.min)},
            {"median", rounded(scales.median)},
            {"max", rounded(scales.max)}});
  }

  void check_zero_points(const QuantMatrix& matrix) {
    if (matrix.zeros.empty()) return;
    const auto [low, high] = std::minmax_element(matrix.zeros.begin(), matrix.zeros.end());
    const auto& constant = claim_.promises.constant_zero;
    if (constant && (static_cast<double>(*low) != static_cast<double>(*constant) ||
                     static_cast<double>(*high) != static_cast<double>(*constant))) {
      find_better([&](const QuantMatrix& other) {
        return std::all_of(other.zeros.begin(), other.zeros.end(), [&](float zero) {
          return static_cast<double>(zero) == static_cast<double>(*constant);
        });
      });
      fail(contradicts("symmetric codes have one zero point", std::to_string(*constant),
                       fmt::format("{:g} to {:g}{}", *low, *high, better_name())));
      return;
    }
    passed("zero", constant ? "every zero point is the middle code" : "range of the zero points",
           {{"min", rounded(static_cast<double>(*low))},
            {"max", rounded(static_cast<double>(*high))}});
  }

  // Codes of a scaled matrix crowd around its zero point; random bytes do not.
  void check_spread(const QuantMatrix& matrix) {
    if (matrix.bits < 3) return;
    const auto counts = std::span(result_.codes.counts).first(size_t{1} << matrix.bits);
    const EvenSpread spread = even_spread(counts);
    const auto used =
        std::count_if(counts.begin(), counts.end(), [](uint64_t count) { return count > 0; });
    if (spread.is_even()) {
      fail(contradicts("the codes are spread evenly, as random bytes are", "a spread of weights",
                       fmt::format("chi-square {:.1f} for {:.0f} degrees of freedom",
                                   spread.chi_square, spread.freedom)));
      return;
    }
    passed("code_table", "spread of the codes",
           {{"codes_used", static_cast<int64_t>(used)},
            {"chi_square_against_even", rounded(spread.chi_square)}});
  }

  void check_range(const QuantMatrix& matrix) {
    const int bits = claim_.promises.range_bits;
    if (bits == 0) return;
    const double limit = std::ldexp(1.0, bits - 1);
    for (size_t code = 0; code < matrix.levels.size(); ++code) {
      const auto& level = matrix.levels[code];
      if (result_.codes.counts[code] == 0 || !level) continue;
      if (*level >= -limit && *level < limit) continue;
      fail(contradicts("codes exceed the announced bits", fmt::format("{} bits", bits),
                       fmt::format("{} codes of {:g}", result_.codes.counts[code], *level)));
      return;
    }
    passed("range", "codes keep to the announced bits", {{"bits", bits}});
  }

  void check_pages() {
    const RandomPages pages = random_pages(codes_.bytes);
    if (pages.pages == 0) return;
    if (pages.random == 0) {
      passed("codes", "no page of random bytes", {{"pages", pages.pages}});
      return;
    }
    fail(contradicts("parts of the codes are random bytes", "pages alike",
                     fmt::format("{} of {} pages spread evenly, the first at byte {}", pages.random,
                                 pages.pages, pages.first)));
  }

  // Zero points off by one move every weight by a whole step.
  void check_centre(const QuantMatrix& matrix) {
    if (!claim_.promises.centred || result_.codes.sampled == 0) return;
    const CodeFigures& figures = result_.codes;
    const double off = std::abs(figures.mean_step);
    // Half a step is where the neighbouring zero point begins to fit better. Trained matrices have
    // means of a few hundredths of their spread, so below a tenth nothing is said.
    if (off > 0.6 && off > 0.1 * figures.rms_step) {
      find_better(
          [](const QuantMatrix& other) { return std::abs(code_figures(other).mean_step) < 0.4; });
    }
    // Without a rival: no quantiser leaves a matrix this far to one side.
    const bool far = off > 1 && off > 0.5 * figures.rms_step;
    if (result_.better || far) {
      fail(contradicts("the weights are not centred", "a mean within 0.6 steps of 0",
                       fmt::format("{:.3g} steps at a spread of {:.3g}{}", figures.mean_step,
                                   figures.rms_step, better_name())));
      return;
    }
    Json numbers = Json::object({{"mean_steps", rounded(figures.mean_step)},
                                 {"rms_steps", rounded(figures.rms_step)},
                                 {"weights", figures.sampled}});
    result_.findings.push_back({matrix.zeros.empty() ? "code_table" : "zero",
                                "weights centred on zero", std::move(numbers)});
  }

  // A linear layer multiplies the variance of its input by about K · rms². Trained networks keep
  // that within a few orders of magnitude of 1; a scale in the wrong direction leaves it by 1/s⁴.
  void check_direction() {
    if (result_.codes.sampled == 0) return;
    const double gain =
        static_cast<double>(claim_.cols) * result_.codes.rms_weight * result_.codes.rms_weight;
    if (claim_.promises.checks_direction && gain > 0) {
      const double off = std::abs(std::log10(gain));
      if (off > 4) {
        find_better([&](const QuantMatrix& other) {
          const double rms = code_figures(other).rms_weight;
          const double other_gain = static_cast<double>(claim_.cols) * rms * rms;
          return other_gain > 0 && off - std::abs(std::log10(other_gain)) > 3;
        });
      }
      if (result_.better) {
        fail(contradicts("the scale works in the other direction", "K · rms² near 1",
                         fmt::format("{:.3g}{}", gain, better_name())));
        return;
      }
    }
    passed("scale", "size of the weights",
           {{"rms", rounded(result_.codes.rms_weight)}, {"k_times_mean_square", rounded(gain)}});
  }

  template <typename Fits>
  void find_better(const Fits& fits) {
    for (size_t i = 0; i < claim_.rivals.size() && !result_.better; ++i) {
      const auto other =
          packing::decode(claim_.rivals[i].spec, claim_.stored, claim_.rows, claim_.cols);
      if (other.ok() && fits(*other)) result_.better = i;
    }
  }
  std::string better_name() const {
    return result_.better ? "; they fit: " + claim_.rivals[*result_.better].name : std::string();
  }

  const Claim& claim_;
  const TensorView& codes_;
  Verified result_;
};

}  // namespace

Result<Verified> verify(const Claim& claim, packing::QuantMatrix* decoded) {
  return Verifier(claim).run(decoded);
}

}  // namespace trilith::announce
