# cmake -D page=FOLDER -D bundler=ESBUILD -D into=FOLDER -P bundle_page.cmake
#
# Makes one minified script of the page's modules and one minified style. A source archive carries both in page/bundled, so
# that who builds from it needs no bundler.
set(options --minify --charset=utf8 --legal-comments=inline --target=es2023 --log-level=warning)
foreach(entry IN ITEMS main.js page.css)
  string(REPLACE main page name ${entry})
  execute_process(COMMAND ${bundler} ${page}/${entry} --bundle ${options} --outfile=${into}/${name}
    RESULT_VARIABLE failed ERROR_VARIABLE said)
  if(failed OR said)
    message(FATAL_ERROR "report: the page's ${entry} cannot be bundled:\n${said}")
  endif()
endforeach()
