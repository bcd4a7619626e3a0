//! What the suite is made of: hostile values, places for holes, pieces of shell.

/// What a script must print, `§` standing for the value.
pub enum Prints {
    Text(&'static str),
    /// The same, for values that the predicate admits; others are not tried.
    For(fn(&str) -> bool, &'static str),
    /// `§` stands for the number; a value that is none must be refused before the script runs.
    Number(&'static str),
    /// One `<…>` per word of the value.
    Words,
}

use Prints::{For, Number, Text, Words};

fn any_file_name(value: &str) -> bool {
    !value.is_empty() && value.len() < 200 && !value.contains('/') && value != ".." && value != "."
}

fn is_a_word(value: &str) -> bool {
    !value.is_empty() && !value.contains([' ', '\t', '\n', '\r'])
}

/// Bash needs time in the square of the length to match a long pattern.
fn is_short(value: &str) -> bool {
    value.len() < 1_000
}

fn not_empty(value: &str) -> bool {
    !value.is_empty()
}

/// Everything that has ever broken a script.
#[rustfmt::skip]
pub const VALUES: &[&str] = &[
    "", " ", "   ", "\n", "\n\n", "\t", "a", "a b", "  a  b  ", "a\n", "a\n\n\n", "\n\na", "a\tb",
    "\ta\n\tb", "'", "''", "\"", "\"\"", "it's", "say \"hi\"", "'\"'\"'", "$", "$$", "$1",
    "$HOME", "${HOME}", "${IFS}", "$(touch pwned)", "`touch pwned`", "\"; touch pwned; \"",
    "'; touch pwned; '", "; touch pwned", "& touch pwned", "| touch pwned", "\ntouch pwned\n",
    "$(touch pwned", "`touch pwned", "}$(touch pwned)", ")$(touch pwned)", "x) touch pwned;;",
    "a[$(touch pwned)]", "${x:-$(touch pwned)}", "$((touch))", "<(touch pwned)", "\\", "\\\\",
    "a\\", "\\n", "\\'", "\\\"", "\\`touch pwned\\`", "\\$(touch pwned)", "*", "?", "[a-z]",
    "*.txt", "~", "~/x", "~root", "{a,b}", "{1..3}", "!", "!!", "!x", "#", "# x", "a # b", "-n",
    "-e", "--", "--help", "-", "=", "a=b", "PATH=x", "%s", "%n%d", "&", "a&b", "|", "||", "<",
    ">", "> pwned", "<<EOF", "(", ")", "()", "]", "]]", "[", "EOF", "EOF\n",
    "a\nEOF\ntouch pwned\nEOF", "EOF) touch pwned", "a\nEOF)\ntouch pwned #",
    "\tEOF\ntouch pwned", "O", "END", "A\nB\nA", "EOF_1_\nEOF", "esac", "done", "fi", "}",
    "{{v}}", "{{v", "\r", "a\r\nb", "\u{1}\u{2}\u{7f}", "\u{1b}[31m", "é☃ 漢字 🎉", "\u{feff}x", "0",
    "7", "-5", "007", "08", "+3", " 42\n", "1.5", "0x10", "1e3", "9223372036854775807",
    "99999999999999999999", "1+1", "true", "null", "{\"a\":[1,\"b\"]}", "/", "..", "../x",
    "/dev/null", "a/b",
];

/// What a value may try.
#[rustfmt::skip]
pub const ATTACKS: &[&str] = &[
    "a[$(touch pwned)]", "$(touch pwned)", "`touch pwned`", "x; touch pwned", "x\ntouch pwned\n",
    "'; touch pwned; '", "\"; touch pwned; \"", "($(touch pwned))", "a=($(touch pwned))",
    "a[$(touch pwned)]=1", "x[`touch pwned`]", "x) touch pwned ;;", "} ; touch pwned ; {",
    "EOF\ntouch pwned\nEOF", "EOF) ; touch pwned #", "-v a[$(touch pwned)]", "\\$(touch pwned)",
    "\\`touch pwned\\`", "\\'; touch pwned; \\'", "}$(touch pwned){", "))\ntouch pwned\n((",
    "]] || touch pwned; [[ a", "> pwned", "PATH=.",
];

/// Label, script, and what it prints.
#[rustfmt::skip]
pub const POSITIONS: &[(&str, &str, Prints)] = &[
    ("bare", "printf '%s' {{v}}\n", Text("§")),
    ("glued", "printf '%s' a{{v}}b\n", Text("a§b")),
    ("twice", "printf '%s' {{v}}/{{v}}\n", Text("§/§")),
    ("neighbours", "printf '%s' {{v}}{{v}}\n", Text("§§")),
    ("flag", "printf '%s' --x={{v}}\n", Text("--x=§")),
    ("tilde", "printf '%s' ~{{v}}\n", Text("~§")),
    ("glob", "printf '%s' {{v}}/*.none\n", Text("§/*.none")),
    ("brackets", "printf '%s' x[{{v}}]\n", Text("x[§]")),
    ("brace list", "printf '<%s>' {a,{{v}}}\n", Text("<a><§>")),
    ("brace suffix", "printf '<%s>' {{v}}{a,b}\n", Text("<§a><§b>")),
    ("double", "printf '%s' \"[{{v}}]\"\n", Text("[§]")),
    ("double, letters after", "printf '%s' \"{{v}}_x1\"\n", Text("§_x1")),
    ("double, variable before", "q=1; printf '%s' \"$q{{v}}$q\"\n", Text("1§1")),
    ("double, escapes", "printf '%s' \"\\\"\\\\{{v}}\\$\"\n", Text("\"\\§$")),
    ("locale", "printf '%s' $\"[{{v}}]\"\n", Text("[§]")),
    ("single", "printf '%s' '[{{v}}]'\n", Text("[§]")),
    ("single, twice", "printf '%s' '{{v}}{{v}}'\n", Text("§§")),
    ("single, backslash", "printf '%s' '\\{{v}}\\'\n", Text("\\§\\")),
    ("single, dollar", "printf '%s' '${{v}}'\n", Text("$§")),
    ("single in json", "printf '%s' '{\"k\": \"{{v}}\"}'\n", Text("{\"k\": \"§\"}")),
    ("ansi", "printf '%s' $'[\\t{{v}}\\x41\\']'\n", Text("[\t§A']")),
    ("ansi, hex before", "printf '%s' $'\\x41{{v}}'\n", Text("A§")),
    ("assignment", "x={{v}}; printf '%s' \"$x\"\n", Text("§")),
    ("assignment, double", "x=\"{{v}}\"; printf '%s' \"$x\"\n", Text("§")),
    ("assignment, single", "x='{{v}}'; printf '%s' \"$x\"\n", Text("§")),
    ("assignment, glued", "x=a:{{v}}:b; printf '%s' \"$x\"\n", Text("a:§:b")),
    ("append", "x=1; x+={{v}}; printf '%s' \"$x\"\n", Text("1§")),
    ("prefix", "f() { printf '%s' \"$x\"; }; x={{v}} f\n", Text("§")),
    ("export", "export x={{v}}; printf '%s' \"$x\"\n", Text("§")),
    ("export, double", "export x=\"{{v}}\"; printf '%s' \"$x\"\n", Text("§")),
    ("declare", "declare x={{v}}; printf '%s' \"$x\"\n", Text("§")),
    ("local", "f() { local -r x={{v}} y; printf '%s' \"$x\"; }; f\n", Text("§")),
    ("readonly", "readonly x={{v}}; printf '%s' \"$x\"\n", Text("§")),
    ("array", "a=(1 {{v}} 2); printf '%s' \"${#a[@]}${a[1]}\"\n", Text("3§")),
    ("array, lines", "a=(\n  {{v}} # it's\n  \"{{v}}\"\n)\nprintf '%s' \"${a[@]}\"\n", Text("§§")),
    ("array, append", "a=(); a+=({{v}}); printf '%s' \"${a[0]}\"\n", Text("§")),
    ("array, at index", "a=([3]={{v}}); printf '%s' \"${a[3]}\"\n", Text("§")),
    ("array element", "a[1]={{v}}; printf '%s' \"${a[1]}\"\n", Text("§")),
    ("declared array", "declare -a a=({{v}} x); printf '%s' \"${a[0]}\"\n", Text("§")),
    ("key", "declare -A m; m[{{v}}]=1; printf '%s' \"${!m[@]}\"\n", For(not_empty, "§")),
    ("key, read", "declare -A m; v={{v}}; m[$v]=yes; printf '%s' \"${m[{{v}}]}${m[\"{{v}}\"]}${m['{{v}}']}\"\n", For(not_empty, "yesyesyes")),
    ("key, literal", "declare -A m=([{{v}}]={{v}}); printf '%s' \"${!m[@]}${m[@]}\"\n", For(not_empty, "§§")),
    ("heredoc", "cat <<EOF\n[{{v}}] $((1 << 2))\nEOF\nprintf after\n", Text("[§] 4\nafter")),
    ("heredoc, quotes", "cat <<EOF\n\"{{v}}_x\" '{{v}}'\nEOF\n", Text("\"§_x\" '§'\n")),
    ("heredoc, quoted", "cat <<'EOF'\n[{{v}}] $x `\nEOF\nprintf after\n", Text("[§] $x `\nafter")),
    ("heredoc, glued", "cat <<'EOF'\nE{{v}}F\nEOF\nprintf after\n", Text("E§F\nafter")),
    ("heredoc, double-quoted", "cat <<\"END\"\n{{v}}\nEND\nprintf after\n", Text("§\nafter")),
    ("heredoc, backslash", "cat <<\\EOF\n{{v}}\nEOF\nprintf after\n", Text("§\nafter")),
    ("heredoc, dash", "cat <<-EOF\n\t\tp {{v}}\n\tEOF\nprintf after\n", Text("p §\nafter")),
    ("heredoc, dash quoted", "cat <<-'EOF'\n\th\n\t{{v}}\n\tEOF\nprintf x\n", Text("h\n§\nx")),
    ("heredocs", "cat <<'A' /dev/fd/3 - 3<<B\n{{v}}\nA\n{{v}}.\nB\n", Text("§.\n§\n")),
    ("heredocs, two commands", "cat <<A; cat <<'B'\n{{v}}\nA\n{{v}}\nB\n", Text("§\n§\n")),
    ("heredoc, piped", "cat <<'EOF' | cat\n{{v}}\nEOF\n", Text("§\n")),
    ("heredoc, in $( )", "x=$(cat <<'EOF'\n{{v}}.\nEOF\n); printf '%s' \"$x\"\n", Text("§.")),
    ("heredoc, in \"$( )\"", "printf '%s' \"$(cat <<'EOF'\n{{v}}.\nEOF\n)\"\n", Text("§.")),
    ("heredoc, EOF)", "x=$(cat <<'EOF'\n{{v}}.\nEOF)\nprintf '%s' \"$x\"\n", Text("§.")),
    ("heredoc, unquoted in $( )", "printf '%s' \"$(cat <<EOF\n{{v}}.\nEOF\n)\"\n", Text("§.")),
    ("heredoc, in ${ }", "printf '%s' \"${u:-$(cat <<'EOF'\n{{v}}.\nEOF\n)}\"\n", Text("§.")),
    ("heredoc, in bare ${ }", "x=${u:-$(cat <<'EOF'\n{{v}}.\nEOF\n)}; printf '%s' \"$x\"\n", Text("§.")),
    ("heredoc, two deep", "printf '%s' \"$(printf '%s.' \"$(cat <<-'EOF'\n\t{{v}}.\nEOF\n)\")\"\n", Text("§..")),
    ("heredoc, in <( )", "cat <(cat <<'EOF'\n{{v}}\nEOF\n)\n", Text("§\n")),
    ("heredoc, in ( ) in $( )", "printf '%s' \"$( (cat <<'EOF'\n{{v}}.\nEOF\n) | cat)\"\n", Text("§.")),
    ("heredoc, in case in $( )", "printf '%s' \"$(case a in a) cat <<'EOF'\n{{v}}.\nEOF\n;; esac)\"\n", Text("§.")),
    ("heredoc, in array", "a=(\"$(cat <<'EOF'\n{{v}}.\nEOF\n)\" b); printf '%s' \"${a[0]}\"\n", Text("§.")),
    ("heredocs, in $( )", "printf '%s' \"$(cat <<'A'; cat <<'EOF'\n{{v}}\nA\n{{v}}.\nEOF\n)\"\n", Text("§\n§.")),
    ("heredoc, function in $( )", "printf '%s' \"$(f() {\ncat <<'EOF'\n{{v}}.\nEOF\n}; f)\"\n", Text("§.")),
    ("heredoc, words", "cat <<EOF; printf '<%s>' {{v|words}}\nx\nEOF\n", For(is_a_word, "x\n<§>")),
    ("input from <( )", "while IFS= read -r -d '' x; do printf '%s' \"$x\"; done < <(printf '%s\\0' {{v}})\n", Text("§")),
    ("heredoc, in function", "f() {\n  cat <<'EOF'\n{{v}}\nEOF\n}\nf\n", Text("§\n")),
    ("heredoc, open", "cat <<'EOF'\n{{v}}\n", Text("§\n")),
    ("heredoc, default", "cat <<EOF\n${u:-{{v}}}${u:-\"{{v}}\"}\nEOF\n", Text("§§\n")),
    ("heredoc, command", "cat <<EOF\n$(printf '%s.' {{v}})\nEOF\n", Text("§.\n")),
    ("heredoc, backticks", "cat <<EOF\n`printf '%s.' \"{{v}}\"`\nEOF\n", Text("§.\n")),
    ("heredoc, escapes", "cat <<EOF\n\\$ \\\\{{v}} \\\n{{v}}\nEOF\n", Text("$ \\§ §\n")),
    ("here-string", "cat <<< {{v}}\n", Text("§\n")),
    ("here-string, single", "cat <<< '{{v}}'; printf '%s' {{v}}\n", Text("§\n§")),
    ("substitution", "x=$(printf '%s.' {{v}}); printf '%s' \"$x\"\n", Text("§.")),
    ("substitution in double", "printf '%s' \"[$(printf '%s.' \"{{v}}\")]\"\n", Text("[§.]")),
    ("substitution, three deep", "printf '%s' \"$(printf '%s.' \"$(printf '%s.' \"$(printf '%s.' '{{v}}')\")\")\"\n", Text("§...")),
    ("substitution with case", "printf '%s' \"$(case {{v}} in (*) printf '%s.' \"{{v}}\" ;; esac)\"\n", Text("§.")),
    ("substitution, comment", "x=$( # it's ) {{v}}\nprintf '%s.' {{v}}); printf %s \"$x\"\n", Text("§.")),
    ("backticks", "x=`printf '%s.' {{v}}`; printf '%s' \"$x\"\n", Text("§.")),
    ("backticks in double", "printf '%s' \"[`printf '%s.' {{v}}`]\"\n", Text("[§.]")),
    ("backticks, escaped quotes", "printf '%s' \"`printf '%s.' \\\"{{v}}\\\"`\"\n", Text("§.")),
    ("backticks, single", "x=`printf '%s.' '\\\\{{v}}'`; printf '%s' \"$x\"\n", Text("\\§.")),
    ("backticks, nested", "x=`printf '%s' \"\\`printf '%s.' {{v}}\\`\"`; printf '%s' \"$x\"\n", Text("§.")),
    ("process substitution", "cat <(printf '%s' {{v}})\n", Text("§")),
    ("test", "x={{v}}; [[ {{v}} == \"$x\" && -n x{{v}} ]] && printf yes\n", Text("yes")),
    ("test pattern", "x={{v}}; [[ $x == {{v}} ]] && printf yes\n", Text("yes")),
    ("test, not a pattern", "[[ abcdefg == {{v}} ]] || printf no\n", Text("no")),
    ("regex", "x=\"-{{v}}-\"; [[ $x =~ ^-({{v}})-$ ]] && printf yes\n", Text("yes")),
    ("regex is literal", "[[ abcdefg =~ ^{{v}}$ ]] || printf no\n", For(not_empty, "no")),
    ("extglob", "shopt -s extglob\nx={{v}}\n[[ $x == @(zz|{{v}}) ]] && printf yes\n", Text("yes")),
    ("[ ]", "x={{v}}; [ {{v}} = \"$x\" ] && printf yes\n", Text("yes")),
    ("case word", "case {{v}} in *) printf '%s' {{v}};; esac\n", Text("§")),
    ("case pattern", "x={{v}}\ncase $x in\n  zz | {{v}}) printf yes ;;\n  *) printf no ;;\nesac\n", Text("yes")),
    ("case pattern, double", "x={{v}}\ncase $x in \"{{v}}\") printf yes ;; esac\n", Text("yes")),
    ("for", "for x in {{v}} 'b {{v}}'; do printf '<%s>' \"$x\"; done\n", Text("<§><b §>")),
    ("default", "printf '%s' \"${u:-{{v}}}\"\n", Text("§")),
    ("default, bare", "x=${u:-{{v}}}; printf '%s' \"$x\"\n", Text("§")),
    ("default, quoted", "printf '%s' ${u:-\"{{v}}\"}${u-'{{v}}'}\n", Text("§§")),
    ("default, quotes in double", "printf '%s' \"${u:-\"{{v}}\"}${u:-'{{v}}'}\"\n", Text("§'§'")),
    ("default, nested", "printf '%s' \"${u:-${w:-a{{v}}}}\"\n", Text("a§")),
    ("default, assigned", ": \"${x:={{v}}}\"; printf '%s' \"$x\"\n", Text("§")),
    ("alternative", "y=1; printf '%s' \"${y:+[{{v}}]}\"\n", Text("[§]")),
    ("prefix removal", "x={{v}}.; printf '%s' \"${x#{{v}}}\"\n", For(is_short, ".")),
    ("suffix removal", "x=pre{{v}}; printf '%s' \"${x%\"{{v}}\"}\"\n", For(is_short, "pre")),
    ("suffix removal, single", "x=pre{{v}}; printf '%s' \"${x%'{{v}}'}\"\n", For(is_short, "pre")),
    ("replacement", "x=a-b; printf '%s' \"${x/-/{{v}}}\"\n", Text("a§b")),
    ("replacement, bare", "x=a-b; y=${x//-/{{v}}}; printf '%s' \"$y\"\n", Text("a§b")),
    ("replacement, quoted", "x=a-b; printf '%s' \"${x/-/'{{v}}'}${x/-/\"{{v}}\"}\"\n", Text("a§ba§b")),
    ("replaced", "x=.{{v}}.; printf '%s' \"${x/.{{v}}/-}\"\n", Text("-.")),
    ("subshell", "( printf '%s' {{v}} ) | cat\n", Text("§")),
    ("group", "{ printf '%s' {{v}}; }\n", Text("§")),
    ("function", "f() { printf '%s' \"$1\" {{v}}; }; f {{v}}\n", Text("§§")),
    ("if", "if [ -n x{{v}} ]; then printf '%s' {{v}}; else printf no; fi\n", Text("§")),
    ("while", "while :; do printf '%s' \"{{v}}\"; break; done\n", Text("§")),
    ("negated", "! printf '%s' {{v}} || printf no\n", Text("§no")),
    ("comment", "# it's {{v}}\nprintf ok # \"{{v}}\nprintf '%s' {{v}}\n", Text("ok§")),
    ("continued", "printf '%s' \\\n  a\\\n{{v}}\n", Text("a§")),
    ("after a shift", "n=2; printf '%s' $((1 << n)) {{v}}; printf '%s' '{{v}}'\n", Text("4§§")),
    ("after <<<", "cat <<< word\nprintf '%s' {{v}}\n", Text("word\n§")),
    ("under set -u", "set -u; printf '%s' \"{{v}}\" {{v}}\n", Text("§§")),
    ("line number", "printf '%s' {{v}}\nprintf '%s' '{{v}}' \"$LINENO\"\n", Text("§§2")),
    ("redirection", "mkdir d; cd d; printf hi > {{v}}; shopt -s dotglob; printf '%s' *; cd ..; rm -r d\n", For(any_file_name, "§")),
    ("redirection, double", "mkdir e; cd e; printf hi > \"{{v}}\"; cat < '{{v}}'; cd ..; rm -r e\n", For(any_file_name, "hi")),
    ("words", "printf '<%s>' {{v|words}}\n", Words),
    ("words in an array", "a=({{v|words}}); ((${#a[@]})) && printf '<%s>' \"${a[@]}\" || printf '<>'\n", Words),
    ("words in for", "for x in {{v|words}}; do printf '<%s>' \"$x\"; done; [ $x ] || printf '<>'\n", Words),
    ("json", "printf '%s' \"{{v|json}}\" {{v|json}}\n", Text("§§")),
    ("arithmetic", "printf '%s' $(( {{v}} ))\n", Number("§")),
    ("arithmetic in double", "printf '%s' \"$(( \"{{v}}\" ))\"\n", Number("§")),
    ("arithmetic, minus", "x=3; printf '%s' $(( x-{{v}}-x+{{v}}+{{v}} ))\n", Number("§")),
    ("arithmetic, old", "printf '%s' $[ {{v}} ]\n", Number("§")),
    ("arithmetic, default", "printf '%s' $(( ${u:-{{v}}} ))\n", Number("§")),
    ("arithmetic command", "(( x = {{v}} )); printf '%s' $x\n", Number("§")),
    ("arithmetic for", "for ((i={{v}}; ; i++)); do printf '%s' $i; break; done\n", Number("§")),
    ("let", "let x={{v}} 'y={{v}}'; printf '%s' $x\n", Number("§")),
    ("integer array", "declare -ia a=({{v}} [3]='{{v}}'); a+=(\"{{v}}\"); printf '%s ' ${a[@]}\n", Number("§ § § ")),
    ("integer array, declared before", "f() { local -ai b; b=({{v}}); printf '%s' $b; }; f\n", Number("§")),
    ("integer values of keys", "declare -iA m=([k]={{v}}); m[l]={{v}}; printf '%s' ${m[k]} ${m[l]}\n", Number("§§")),
    ("integer loop variable", "declare -i x; for x in {{v}} '{{v}}'; do printf '%s ' $x; done\n", Number("§ § ")),
    ("integer default", "declare -i x y; : ${x:={{v}}} \"${y={{v}}}\"; printf '%s ' $x $y\n", Number("§ § ")),
    ("read into an integer", "declare -i x; read -r x <<< {{v}}; printf '%s' $x\n", Number("§")),
    ("loop that reads into an integer", "declare -i x; while read -r x; do printf '%s' $x; done <<EOF\n{{v}}\nEOF\n", Number("§")),
    ("printed into an integer", "declare -i x; printf -v x %s {{v}}; printf '%s' $x\n", Number("§")),
    ("index of a descriptor", "exec {a[{{v}}]}>/dev/null; printf '%s' ${!a[@]}\n", Prints::For(|value| value.parse().is_ok_and(|n: u16| n.to_string() == value), "§")),
    ("read into a plain variable beside an integer", "declare -i n=1; read -r -d '' x <<< {{v}}; cat <<'EOF'\n{{v}}\nEOF\n", Text("§\n")),
    ("integer variable", "declare -i x={{v}}; x={{v}}; x=\"{{v}}\"; printf '%s' $x\n", Number("§")),
    ("test number", "x={{v}}; [[ {{v}} -eq \"{{v}}\" ]] && printf '%s' $(( {{v}} ))\n", Number("§")),
    ("index", "a=(x); i={{v}}; [[ $((${a[{{v}}]+1}+0)) -lt 2 ]] && printf '%s' $(({{v}}))\n", Number("§")),
];

/// Places where bash does more with a word than take it as text.
#[rustfmt::skip]
pub const EVALUATED: &[&str] = &[
    "declare {{v}}=1", "declare {{v}}", "declare \"{{v}}\"", "typeset '{{v}}=1'",
    "export {{v}}=1", "export {{v}}", "readonly {{v}}=1", "readonly \"{{v}}\"",
    "f() { local {{v}}=1; local {{v}}; }; f", "declare -a a={{v}}", "declare -A a={{v}}",
    "a=(1); declare a={{v}}", "declare -i x={{v}}", "declare -a b; declare b=\"{{v}}\"",
    "a=(1); readonly a='{{v}}'", "readonly -a b={{v}}", "declare -i x; x={{v}}",
    "f() { local -i x; x+=\"{{v}}\"; }; f", "declare -ia b=({{v}})", "declare -i b; b=({{v}})",
    "declare -i b; b+=(1 '{{v}}')", "f() { local -ai b=(\"{{v}}\"); }; f", "readonly -ia b=({{v}})",
    "declare -ia b=([0]={{v}})", "declare -iA b=([k]={{v}})", "declare -ia b=({{v|words}})",
    "declare -i x; for x in {{v}}; do :; done", "declare -i x; for x in 1 {{v|words}}; do :; done",
    "declare -i x; : ${x:={{v}}}", "declare -i x; echo \"${x='{{v}}'}\"", "for SECONDS in {{v}}; do :; done",
    "declare -i x; read x <<< {{v}}", "declare -i x; read x <<EOF\n{{v}}\nEOF\n",
    "declare -i x; read x <<'EOF'\n{{v}}\nEOF\n", "declare -i x; echo {{v}} | read x",
    "declare -i x; cat <<'EOF' | read -r x\n{{v}}\nEOF\n", "declare -i x; read x < <(echo {{v}})",
    "declare -i x; while read x; do :; done <<< {{v}}", "declare -i x; { read x; } < <(printf '%s\\n' {{v}})",
    "f() { read x; }; declare -i x; f <<< {{v}}", "declare -i REPLY; read <<< {{v}}",
    "declare -i a; read -a a <<< {{v}}", "declare -i x; printf -v x %s {{v}}",
    "declare -ia x; printf -v 'x[0]' {{v}}", "printf -v{{v}} x", "read -a{{v}} <<< x", "wait -p{{v}}",
    "declare -i x; printf -vx %s {{v}}", "declare -i a; mapfile a <<< {{v}}", "declare -i MAPFILE; readarray <<< {{v}}",
    "declare -i OPTARG; getopts a: x -a {{v}}", "declare -i x; declare -n r=x; r={{v}}",
    "f() { local -n r=$1; r=({{v}}); }; declare -i x; f x", "exec {fds[{{v}}]}>/dev/null",
    "exec {fds[\"{{v}}\"]}>/dev/null", "echo {fds['{{v}}']}>/dev/null", "declare -n r={{v}}; echo $r", "read {{v}} <<< x",
    "read -r \"{{v}}\" <<< x", "read -a {{v}} <<< x", "mapfile {{v}} <<< x", "printf -v {{v}} x",
    "printf -v \"{{v}}\" x", "unset {{v}}", "a=(1); unset -v \"{{v}}\"",
    "a=(1 2); unset 'a[{{v}}]'", "a=(1); unset a[{{v}}]", "[[ -v {{v}} ]]", "[[ -v \"{{v}}\" ]]",
    "a=(1); test -v {{v}}", "a=(1); [ -v \"{{v}}\" ]", "[ -n x -a -v {{v}} ]",
    "[[ ! -v a[{{v}}] ]]", "[[ {{v}} -gt 1 ]]", "[[ 1 -eq \"{{v}}\" ]]",
    "[[ '{{v}}' -lt 2 || {{v}} -ne 1 ]]", "[[ ( {{v}} -ge 1 ) && x ]]", "[[ x{{v}} -le 1 ]]",
    "[ {{v}} -gt 1 ]", "test 1 -eq {{v}}", "let {{v}}", "let \"x={{v}}\" y+=1", "(( {{v}} ))",
    "(( x = \"{{v}}\" ))", "echo $(({{v}}))", "echo $[{{v}}]",
    "for ((i=0; i<{{v}}; i++)); do break; done", "x=1; echo ${x:{{v}}}",
    "x=1; echo \"${x:0:{{v}}}\"", "x=1; echo \"${x: -{{v}}}\"", "a=(1); echo ${a[{{v}}]}",
    "a=(1); echo \"${a[\"{{v}}\"]}\"", "a[{{v}}]=1", "a=([{{v}}]=1)", "a=(1); echo ${#a[{{v}}]}",
    "a=(1); echo ${a[@]:{{v}}}", "echo ${a[{{v}}]:-1}", "echo ${!{{v}}}", "echo ${{{v}}}",
    "echo ${{v}}", "echo \"${{v}}\"", "{{v}}=1", "{{v}}=1 true", "for {{v}} in 1; do :; done",
    "{{v}}() { :; }; x", "function {{v}} { :; }", "cat <<{{v}}\nx\n{{v}}\n", "echo {1..{{v}}}",
    "echo {{{v}}..3}", "SECONDS={{v}}", "RANDOM={{v}} OPTIND=\"{{v}}\"", "getopts a {{v}} -a",
    "wait -p {{v}}", "exit {{v}}", "shift {{v}}", "echo >&{{v}}", "echo > \"{{v}}\"x/y",
    "exec {fd}<{{v}}", "alias {{v}}=x", "hash {{v}}", "type {{v}}; command -v {{v}}",
    "set -- {{v}}; echo \"$1\"", "shopt {{v}}; set -o {{v}}", "enable {{v}}",
    "kill {{v}}; ulimit -n {{v}}", "read -t {{v}} -n {{v}} x", "printf {{v}}",
    "printf \"{{v}}\" a", "printf %d {{v}}", "printf %q {{v}}",
    "select x in {{v}}; do break; done", "time {{v}}", "! {{v}}", "{{v}}", "\"{{v}}\" x",
    "'{{v}}'", "command {{v}}", "exec {{v}}", "env {{v}} true", "{{v|words}}",
    "x={{v}} true; echo $x", "echo ~{{v}}", "cd {{v}}", "pushd {{v}}", "umask {{v}}",
    "cat <<-'EOF'\n\t{{v}}\nEOF", "echo \"${u:-$'{{v}}'}\"", "echo \"${u:-it's {{v}}}\"",
    "echo \\{{v}}", "echo \"\\{{v}}\"", "echo $'\\{{v}}'", "echo $'\\c{{v}}'",
    "cat <<EOF\n\\{{v}} ${{v}}\nEOF", "echo `echo \\{{v}} \\\\{{v}}`",
    "echo `cat <<'EOF'\n{{v}}\nEOF\n`", "declare -A m; m[{{v}}]=1; echo ${m[{{v}}]} ${#m[{{v}}]}",
    "declare -A m; (( m[{{v}}]++ ))", "declare -A m; unset 'm[{{v}}]'",
    "declare -A m; declare -a m; m[{{v}}]=1", "f() { local -A m; }; m[x]=1; [[ -v m[{{v}}] ]]",
    "x=ab; echo ${x/{{v}}/{{v}}} ${x#{{v}}} ${x^^{{v}}} ${x@{{v}}}", "echo ${x{{v}}y}",
    "coproc {{v}} { :; }", "case x in {{v}}) ;; esac", "echo @({{v}}|b)",
    "shopt -s extglob\necho @({{v}}|b) !({{v}})", "[[ a =~ {{v}} ]]", "[[ a =~ ({{v}}) ]]",
    "[[ {{v}} ]]", "[[ -e {{v}} ]]", "[[ {{v}} -nt {{v}} ]]", "[[ a < {{v}} ]]",
];

/// Complete commands that a reader can stumble over.
#[rustfmt::skip]
pub const NOISE: &[&str] = &[
    "", "", "", "# it's \" {{ $( `\n", ": $((1 << 2)) '\"' \"'\"\n", "cat <<< word > /dev/null\n",
    ": <<'X' <<Y\n'\" $( `\nX\n\" ' )\nY\n", "case a in a) : ;; (b|c) : ';;' ;; esac\n",
    "a=(1 \"2 )\" [5]=3) # )\n", "f() { local x=1; }\n", "[[ a =~ ^(a|b)$ && a == @(a|'b)') ]]\n",
    "if ((1 < 2)); then :; fi; for ((i=0;i<2;i++)); do :; done\n", "x=${HOME#/} y=\"${x%'}'}\"\n",
    "while false; do :; done; ! :\n", "let y=1+2; (( y << 1 )) && :\n",
];

/// Pieces that seldom make sense together.
#[rustfmt::skip]
pub const JUNK: &[&str] = &[
    "'", "\"", "`", "$", "$(", "$((", "((", "))", "${", "}", "{", "(", ")", "[", "]", "[[", "]]",
    "<<EOF", "<<-'EOF'", "<<<", "<<\"A\"", "\nEOF\n", "\nA\n", "\n", " ", "\t", ";", ";;", "&",
    "&&", "|", "<(", ">", "2>&1", "\\", "\\\n", "#", "!", "=", "x=", "a[", "a=(", "case", " in ",
    "esac", "for ", "if ", "function ", "x", "é", "$x", "${x:-", "${x/", "${x:", "${!", "$'",
    "=~", "-gt", "declare -A m", "m[", "bash -c ", "eval ", "jq ", "{{v}}", "{{v}}",
    "{{v|words}}", "{{v|json}}", "\0", "\r", "\u{7f}",
];

/// Pieces that make sense together more often, and start nothing.
#[rustfmt::skip]
pub const HARMLESS_JUNK: &[&str] = &[
    "'", "\"", "`", "$", "$(", "$((", "((", "))", "${u", "${a", "}", "{ ", "(", ")", "[", "]",
    "[[ ", " ]]", "<<EOF", "<<-'EOF'", "<<'EOF'", "<<<", "\nEOF\n", "\n", "\n", " ", " ", ":-",
    ":", "/", "#", "%", ";", ";;", "&&", "||", "<(", "\\", "\\\n", "# ", "! ", "=", "x=", "a[",
    "a=(", "case x in x) ", "esac", "for x in ", "; do ", "done", "if ", "then ", "fi", "echo ",
    ": ", "$u", "$'", " =~ ", " -gt ", " == ", "declare ", "local ", "x", "~", "{{v}}", "{{v}}",
    "{{v}}", "{{v}}",
];
