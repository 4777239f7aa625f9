#include <fmt/format.h>

#include <algorithm>

#include "reconcile/ledger.h"
#include "report/page.h"

namespace trilith::reconcile {

std::string to_junit(const Ledger& ledger) {
  // The escapes of HTML that report::escape writes (&amp; &lt; &gt; &quot; &#39;) are XML's too.
  using report::escape;
  const bool passed = ledger.exit_code(false) == 0;
  const auto failure = [](const std::string& words) {
    return fmt::format("<failure message=\"{}\"/>", escape(words));
  };
  std::string cases =
      fmt::format("  <testcase classname=\"trilith.verify\" name=\"verdict: {}\">{}</testcase>\n",
                  verdict_name(ledger.verdict),
                  passed ? std::string()
                         : failure(ledger.faults.empty()
                                       ? ledger.reason
                                       : fmt::format("first at {}: {}", ledger.faults.front().point,
                                                     ledger.faults.front().words)));
  size_t failed = passed ? 0 : 1;
  for (const PointReport& point : ledger.points) {
    std::string words;
    for (const Fault& fault : ledger.faults) {
      if (fault.point == point.point) words += (words.empty() ? "" : "; ") + fault.words;
    }
    failed += words.empty() ? 0 : 1;
    cases += fmt::format("  <testcase classname=\"trilith.verify\" name=\"{}\">{}</testcase>\n",
                         escape(point.point), words.empty() ? words : failure(words));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"trilith verify\" tests=\"{}\" "
      "failures=\"{}\">\n{}</testsuite>\n",
      ledger.points.size() + 1, failed, cases);
}

}  // namespace trilith::reconcile
