# cmake -D page=FOLDER -D bundled=FOLDER -D out=FILE.cc -P embed_page.cmake
#
# Makes one C++ source of page.html and of what bundle_page.cmake made of the page's scripts and style. The
# Content-Security-Policy names the one style and the one script by hash, so that nothing else can run, whatever the data
# hold. The hashes are taken here because all but the data is known here.

# A policy wants base64, CMake gives hexadecimal: six digits are four letters, 64 digits 43 and one to fill.
function(sha256_base64 text result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 digits "${text}")
  set(letters "")
  foreach(start RANGE 0 60 6)
    string(SUBSTRING "${digits}00" ${start} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR index "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${index} 1 letter)
      string(APPEND letters "${letter}")
    endforeach()
  endforeach()
  string(SUBSTRING "${letters}" 0 43 letters)
  set(${result} "${letters}=" PARENT_SCOPE)
endfunction()

file(READ ${bundled}/page.js script)
file(READ ${bundled}/page.css style)

# HTML turns carriage returns into newlines before it hashes.
string(REPLACE "\r" "" script "${script}")
string(REPLACE "\r" "" style "${style}")
foreach(text "${script}" "${style}")
  string(TOLOWER "${text}" lower)
  string(REGEX MATCH "</(script|style)" ends "${lower}")
  if(ends)
    message(FATAL_ERROR "report: a source of the page holds ${ends}, which would end its element")
  endif()
endforeach()
sha256_base64("${script}" script_hash)
sha256_base64("${style}" style_hash)

file(READ ${page}/page.html html)
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" html "${html}")
string(REPLACE "@STYLE_HASH@" "${style_hash}" html "${html}")
string(REPLACE "@STYLE@" "${style}" html "${html}")
string(REPLACE "@SCRIPT@" "${script}" html "${html}")
# What is known only when a page is written: the template is cut there.
string(FIND "${html}" "@DATA@" data)
string(FIND "${html}" "@PLAYGROUND@" playground)
if(data EQUAL -1 OR NOT playground GREATER data OR html MATCHES "\\)page\"")
  message(FATAL_ERROR "report: page.html must hold @DATA@, then @PLAYGROUND@, and no source the end of a C++ raw string")
endif()
foreach(cut @DATA@ @PLAYGROUND@)
  string(REPLACE "${cut}" ")page\",\n          R\"page(" html "${html}")
endforeach()

file(WRITE ${out} "// Made by embed_page.cmake from the page's sources.
#include \"report/report_files.h\"

namespace sharpmax::report {

PageTemplate page_template() {
  return {R\"page(${html})page\"};
}

}  // namespace sharpmax::report
")
