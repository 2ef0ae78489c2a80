# cmake -DPROGRAM=gnnrun -DOUT=gnnrun.1 -P GnnManPage.cmake: the manual page is the help, command
# by command, so that it says what the option table says.

# section(title argument ...): what `gnnrun argument ... --help` prints, as it is.
function(section title)
	execute_process(COMMAND ${PROGRAM} ${ARGN} --help
		OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
	string(REPLACE "\\" "\\e" text "${text}")
	string(REPLACE "-" "\\-" text "${text}")
	string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
	file(APPEND "${OUT}" ".SH ${title}\n.nf\n${text}.fi\n")
	set(text "${text}" PARENT_SCOPE)
endfunction()

file(WRITE "${OUT}" ".TH GNNRUN 1\n.SH NAME\n"
	"gnnrun \\- graph neural networks on graphs larger than the machine\n")
section(SYNOPSIS)
string(REGEX MATCHALL "\n  [a-z]+ +[^ ]*" lines "${text}")
foreach(line ${lines})
	string(REGEX REPLACE "\n  ([a-z]+) .*" "\\1" command "${line}")
	if(NOT command STREQUAL "gnnrun")
		string(TOUPPER "${command}" title)
		section("${title}" ${command})
	endif()
endforeach()
