// Stands in for the page where the build found no esbuild.
#include "report/report_files.h"
#include "sharpmax/error.h"

namespace sharpmax::report {

PageTemplate page_template() {
  throw Error(ErrorCode::unsupported, "report: this build has no report page, since esbuild was missing; run make setup and build again");
}

}  // namespace sharpmax::report
