# Completion of gnnrun for bash. It asks the program, so that it knows what the option table knows.
_gnnrun() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}

	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$("$program" --help 2> /dev/null |
			sed -n '/^  gnnrun /q; s/^  \([a-z]\{1,\}\) .*/\1/p')
	elif [[ $word == --* ]]; then
		words=$("$program" "$command" --help 2> /dev/null |
			sed -n 's/^  --\(\[no-\]\)\{0,1\}\([a-z0-9-]*\).*/--\2/p')
	elif [[ $before == --* ]]; then
		words=$("$program" "$command" --help 2> /dev/null |
			sed -n "s/^  $before \([^ ]*|[^ ]*\)$/\1/p" | tr '|' ' ')
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	[ -n "$words" ] || compopt -o default 2> /dev/null
}
complete -F _gnnrun gnnrun
