// The bluntest heads of a model: audit MODEL TEXT
#include <algorithm>
#include <cstdio>

#include "sharpmax/audit.h"

using namespace sharpmax;

// Shows where the audit is. It could also throw Interrupted to end it.
struct Console : Listener {
  void on_progress(std::string_view line) override {
    std::fprintf(stderr, "\r\x1b[K%.*s", static_cast<int>(line.size()), line.data());
  }
};

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: audit MODEL TEXT\n"), 2;
  AuditRequest request;
  request.model.model = argv[1];
  request.text.text = argv[2];
  request.lengths = {64, 256};
  request.excerpts = 1;
  request.sketch = 0;
  Console console;
  const AuditResult result = audit_model(request, console);

  std::vector<HeadFindings> heads = result.findings->by_head;
  const auto peak = [](const HeadFindings& head) { return head.at.back()[RowField::peak_outside].median; };
  std::sort(heads.begin(), heads.end(), [&](const auto& a, const auto& b) { return peak(a) < peak(b); });
  std::printf("median peak weight outside the first token, at %.0f tokens\n", result.findings->lengths.back());
  for (std::size_t i = 0; i < 5 && i < heads.size(); ++i)
    std::printf("layer %2d, head %2d: %.3f\n", static_cast<int>(heads[i].place.layer),
                static_cast<int>(heads[i].place.head), peak(heads[i]));
}
