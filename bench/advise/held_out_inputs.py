# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of the held-out programs, made from a seed: sources, documents and data in their formats."""

import random

from . import inputs
from .inputs import words


def pick(seed, *what):
    """A generator of random numbers, another one for each program."""
    return random.Random(f"{seed} {what}")


def sentences(seed, count, width=12):
    w = words(seed, count * width)
    return [" ".join(w[at : at + width]).capitalize() + "." for at in range(0, count * width, width)]


def graph(seed, nodes):
    chosen = pick(seed, "dot")
    lines = [f'n{at} -> n{min(nodes - 1, at + chosen.randint(1, 9))} [label="{at % 17}"];' for at in range(nodes - 1)]
    lines += [f"n{chosen.randrange(nodes // 2)} -> n{chosen.randrange(nodes // 2, nodes)};" for _ in range(nodes // 3)]
    return "digraph g {\n" + "\n".join(lines) + "\n}\n"


def manifest(seed, edges):
    chosen, w = pick(seed, "ninja"), words(seed, edges)
    lines = ["rule make\n  command = build $in -o $out $flags\n  description = $out"]
    for at in range(edges):
        needed = {f"out/{w[k]}/{k}.o" for k in (chosen.randrange(at) for _ in range(3))} if at > 9 else ()
        lines.append(f"build out/{w[at]}/{at}.o: make {' '.join(sorted(needed))}\n  flags = -O{at % 4} -I{w[at]}")
    return "\n".join(lines) + "\n"


def messages(seed, count):
    chosen, w = pick(seed, "protoc"), words(seed, count * 8)
    kinds = ("int32", "string", "bytes", "double", "bool", "fixed64")
    lines = ['syntax = "proto3";\npackage held.out;']
    for at in range(count):
        kind = lambda: chosen.choice(kinds if at == 0 or chosen.random() < 0.7 else (f"M{chosen.randrange(at)}",))
        fields = "".join(f"  repeated {kind()} f_{w[8 * at + n]}_{n} = {n + 1};\n" for n in range(8))
        lines.append(f"message M{at} {{\n{fields}  enum E {{ NONE_{at} = 0; {w[at].upper()}_{at} = 1; }}\n}}")
    return "\n".join(lines) + "\n"


def drawing(seed, shapes):
    chosen = pick(seed, "svg")
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"><style>.a{fill:#a33}.b{stroke:#33a}</style>']
    for at in range(shapes):
        x, y, r = (chosen.randint(1, 390) for _ in range(3))
        path = " ".join(f"L{chosen.randint(0, 400)} {chosen.randint(0, 400)}" for _ in range(4))
        parts.append(f'<g class="{"ab"[at % 2]}" opacity="0.{at % 9 + 1}"><circle cx="{x}" cy="{y}" r="{r % 9}"/>'
                     f'<path d="M{x} {y} {path}" fill="none" stroke-width="{at % 3}"/></g>')
    return "\n".join(parts) + "</svg>\n"


def html(seed, paragraphs):
    text = sentences(seed, paragraphs * 3)
    parts = (f'<div class="c{at % 7}"><h2>{text[3 * at]}</h2><p>{text[3 * at + 1]} <a href="#{at}">{at}</a> <em>{text[3 * at + 2]}'
             f"</em></p><ul><li>{at}</li><li><b>{at * 7}</b></li></ul><table><tr><td>{at}</td><td>x</td></tr></table></div>"
             for at in range(paragraphs))
    return "<!DOCTYPE html><html><head><title>t</title></head><body>" + "\n".join(parts) + "</body></html>\n"


def grammar(seed, rules):
    chosen = pick(seed, "bison")
    tokens = [f"T{n}" for n in range(rules)]
    lines = [f"%token {' '.join(tokens)}", "%%", "start: r0 | start r0;"]
    for at in range(rules):
        below = f"r{at + 1}" if at + 1 < rules else "'x'"
        lines.append(f"r{at}: {below} | T{at} {below} {chosen.choice(tokens)} | r{at} T{at} {below} "
                     f"{{ act({chosen.randint(1, 99)}); }};")
    return "\n".join(lines) + "\n%%\n"


def pdf(seed, pages):
    """A document of text in one font, with a table of its objects."""
    chosen = pick(seed, "pdf")
    text = sentences(seed, pages * 50, 9)
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for page in range(pages):
        lines = "".join(f"BT /F1 {chosen.randint(8, 12)} Tf 50 {780 - 14 * n} Td ({line}) Tj ET\n"
                        for n, line in enumerate(text[50 * page : 50 * page + 50]))
        objects.append(f"<< /Length {len(lines)} >>\nstream\n{lines}endstream")
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {len(objects)} 0 R "
                       "/Resources << /Font << /F1 3 0 R >> >> >>")
    kids = " ".join(f"{5 + 2 * page} 0 R" for page in range(pages))
    objects[1] = f"<< /Type /Pages /Count {pages} /Kids [{kids}] >>"
    file, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(f"{len(file):010} 00000 n \n")
        file += f"{number} 0 obj\n{content}\nendobj\n"
    return (f"{file}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{''.join(places)}trailer << /Size {len(objects) + 1} "
            f"/Root 1 0 R >>\nstartxref\n{len(file)}\n%%EOF\n")


def constraints(seed, problems):
    chosen = pick(seed, "z3")
    lines = ["(set-logic QF_LIA)", *(f"(declare-const x{n} Int)" for n in range(12))]
    for _ in range(problems):
        lines.append("(push)")
        for _ in range(14):
            a, b, c = chosen.sample(range(12), 3)
            lines.append(f"(assert (or (< (+ x{a} (* {chosen.randint(2, 9)} x{b})) {chosen.randint(1, 99)}) (> x{c} x{a})))")
        lines.append("(check-sat)\n(pop)")
    return "\n".join(lines) + "\n"


def classes(seed, count):
    chosen, w = pick(seed, "swig"), words(seed, count * 4)
    lines = ["%module held\n%include <std_string.i>\n%inline %{"]
    for at in range(count):
        base = f" : public C{chosen.randrange(at)}" if at and chosen.random() < 0.5 else ""
        methods = "".join(f" int m_{w[4 * at + n]}_{n}(int a, const char* b, double c = {n});" for n in range(4))
        lines.append(f"class C{at}{base} {{ public: C{at}(int);{methods} int value_{at}; }};")
    return "\n".join(lines) + "\n%}\n"


def variants(seed, count):
    chosen = pick(seed, "vcf")
    samples = [f"S{n}" for n in range(12)]
    lines = ["##fileformat=VCFv4.2", '##INFO=<ID=DP,Number=1,Type=Integer,Description="d">',
             '##FORMAT=<ID=GT,Number=1,Type=String,Description="g">', "##contig=<ID=1>",
             "\t".join(("#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT " + " ".join(samples)).split())]
    for _ in range(count):
        genotypes = "\t".join(f"{chosen.randint(0, 1)}/{chosen.randint(0, 1)}" for _ in samples)
        lines.append(f"1\t{chosen.randint(1, 10**7)}\trs{chosen.randint(1, 10**6)}\tA\tG\t{chosen.randint(1, 99)}\tPASS\t"
                     f"DP={chosen.randint(1, 99)}\tGT\t{genotypes}")
    return "\n".join(lines) + "\n"


def clauses(seed, variables, share=2.8):
    chosen = pick(seed, "sat")
    count = int(share * variables)
    lines = (" ".join(str(v * chosen.choice((1, -1))) for v in chosen.sample(range(1, variables + 1), 3)) for _ in range(count))
    return f"p cnf {variables} {count}\n" + "".join(f"{line} 0\n" for line in lines)


def markdown(seed, sections):
    text = sentences(seed, sections * 4)
    return "\n\n".join(f"## {text[4 * at]}\n\n{text[4 * at + 1]} *{at}* `code` [link](http://a/{at})\n\n- {text[4 * at + 2]}\n"
                       f"- **{text[4 * at + 3]}**" for at in range(sections)) + "\n"


def lexer(seed, rules):
    w = sorted(set(words(seed, rules)))
    patterns = "".join(f'"{word}{at}"[a-z]?  {{ return {at + 1}; }}\n' for at, word in enumerate(w))
    return f"%option noyywrap\n%%\n{patterns}[0-9]+ {{ return 0; }}\n.|\\n ;\n%%\n"


def definitions(seed, count):
    chosen, w = pick(seed, "m4"), words(seed, count)
    lines = ["define(`twice', `$1 $1')define(`count', `ifelse($1, 0, `.', `$1 count(decr($1))')')"]
    for at in range(count):
        lines.append(f"define(`m_{w[at]}_{at}', `twice(`$1 {w[at]} $2') eval({chosen.randint(1, 99)} * $#)')")
        lines.append(f"m_{w[at]}_{at}({w[at - 1]}, count({chosen.randint(1, 12)})) m_{w[at]}_{at}(a, m_{w[at]}_{at}(b, c))")
    return "\n".join(lines) + "\n"


def sums(seed, digits):
    chosen = pick(seed, "bc")
    return f"scale = {digits}\nx = 1\nfor (i = 1; i < 90; ++i) {{ x = x * i / {chosen.randint(3, 99)} + sqrt(i + {seed}) }}\nx\n"


def roff(seed, paragraphs):
    text = sentences(seed, paragraphs * 3)
    return ".TH T 1\n.SH NAME\nt \\- t\n" + "".join(
        f".SH S{at}\n{text[3 * at]}\n.PP\n\\fB{text[3 * at + 1]}\\fR\n.IP {at}\n{text[3 * at + 2]}\n" for at in range(paragraphs))


def plot(seed, points):
    chosen = pick(seed, "gnuplot")
    rows = "".join(f"{at} {chosen.gauss(0, 9):.3f} {chosen.random():.3f}\n" for at in range(points))
    return (f"set terminal svg\nset fit quiet nologfile\n$d << EOD\n{rows}EOD\nfit a*x+b $d using 1:2 via a,b\n"
            "plot $d using 1:2 smooth bezier, $d using 1:3\n")


def lists(seed, count):
    return f"""cmake_minimum_required(VERSION 3.20)
string(REPEAT "alpha-{seed};beta-b;gamma-c;" {count} all)
foreach(i RANGE {count})
  list(GET all ${{i}} one)
  string(REGEX REPLACE "([a-z]+)-([a-z0-9])" "\\\\2/\\\\1/${{i}}" two "${{one}}")
  set(v_${{one}}_${{i}} "${{two}}")
  list(APPEND found ${{two}} ${{v_${{one}}_${{i}}}})
endforeach()
list(SORT found)
list(REMOVE_DUPLICATES found)
list(LENGTH found n)
message("${{n}}")
"""


def map_data(seed, nodes):
    chosen, w = pick(seed, "osm"), words(seed, nodes)
    parts = ['<?xml version="1.0"?><osm version="0.6">']
    for at in range(1, nodes):
        parts.append(f'<node id="{at}" version="1" lat="{chosen.uniform(-80, 80):.6f}" lon="{chosen.uniform(-180, 180):.6f}">'
                     f'<tag k="name" v="{w[at]}"/></node>')
    for at in range(1, nodes // 5):
        nds = "".join(f'<nd ref="{chosen.randrange(1, nodes)}"/>' for _ in range(8))
        parts.append(f'<way id="{at}" version="1">{nds}<tag k="highway" v="{w[at]}"/></way>')
    return "\n".join(parts) + "</osm>\n"


def journal(seed, count):
    chosen, w = pick(seed, "ledger"), words(seed, count * 2)
    return "".join(f"2024/{chosen.randint(1, 12):02}/{chosen.randint(1, 28):02} {w[2 * at]} {w[2 * at + 1]}\n"
                   f"    Expenses:{w[2 * at].title()}:{w[2 * at + 1].title()}  {chosen.randint(1, 9999) / 100:.2f} EUR\n"
                   "    Assets:Bank\n\n" for at in range(count))


def assembly(seed, count):
    chosen, w = pick(seed, "asm"), words(seed, count)
    return "".join(f"l_{w[at]}_{at}:\n mov eax, {chosen.randint(1, 10**6)}\n add ebx, eax\n jz l_{w[back]}_{back}\n"
                   for at in range(count) for back in (chosen.randint(0, at),))


def gnu_assembly(seed, count):
    chosen, w = pick(seed, "gas"), words(seed, count)
    return ".text\n" + "".join(
        f".Ll_{w[at]}_{at}:\n movl ${chosen.randint(1, 10**6)}, %eax\n addl %eax, %ebx\n jz .Ll_{w[back]}_{back}\n"
        " .cfi_startproc\n .cfi_endproc\n" for at in range(count) for back in (chosen.randint(0, at),))


def reads(seed, count):
    chosen = pick(seed, "sam")
    lines = ["@HD\tVN:1.6", "@SQ\tSN:1\tLN:10000000"]
    for at in range(count):
        bases = "".join(chosen.choices("ACGT", k=60))
        lines.append(f"r{at}\t0\t1\t{chosen.randint(1, 9_000_000)}\t60\t60M\t*\t0\t0\t{bases}\t{'I' * 60}\tNM:i:{at % 5}")
    return "\n".join(lines) + "\n"


def logic(seed, facts):
    chosen = pick(seed, "asp")
    edges = "".join(f"edge({chosen.randrange(facts)},{chosen.randrange(facts)}).\n" for _ in range(facts * 2))
    return edges + "two(X,Z) :- edge(X,Y), edge(Y,Z).\nthree(X,Z) :- two(X,Y), edge(Y,Z), X != Z.\n{ on(X) : three(X,_) }.\n"


def circuit(seed, gates):
    chosen = pick(seed, "yosys")
    lines = ["module m(input clk, input [31:0] i, output reg [31:0] o);"]
    for at in range(gates):
        a, b = (f"w{chosen.randrange(at)}" if at else "i" for _ in range(2))
        lines.append(f"wire [31:0] w{at} = ({a} {chosen.choice('+-&|^')} {b}) ^ (i >> {at % 31});")
    return "\n".join(lines) + f"\nalways @(posedge clk) o <= w{gates - 1};\nendmodule\n"


def states(seed, count):
    w = sorted(set(words(seed, count)))
    choices = " |\n ".join(f"('{word}' [0-9]+ @{{ n += {at}; }})" for at, word in enumerate(w))
    return (f"%%{{\nmachine m;\nmain := ({choices} | ' ')*;\n}}%%\n%% write data;\n"
            "int f(const char* p, const char* pe) { int cs, n = 0;\n%% write init;\n%% write exec;\nreturn n + cs; }\n")


def scanner(seed, count):
    w = sorted(set(words(seed, count)))
    rules = "".join(f'"{word}" [0-9]{{1,3}} {{ return {at}; }}\n' for at, word in enumerate(w))
    return ("int f(const char* YYCURSOR) {\n/*!re2c\nre2c:define:YYCTYPE = char;\nre2c:yyfill:enable = 0;\n"
            f"{rules}* {{ return -1; }}\n*/\n}}\n")


STYLESHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:key name="kind" match="item" use="@kind"/>
<xsl:template match="/all"><r><xsl:for-each select="item"><xsl:sort select="name"/>
<i n="{count(key('kind', @kind))}"><xsl:value-of select="concat(name, ' ', tags/tag[1])"/></i></xsl:for-each></r></xsl:template>
</xsl:stylesheet>
"""

POSTSCRIPT = """/s 1000 string def /d 5000 dict def /n 0 def
WORDS (r) file { dup s readline not { pop exit } if
  dup length string copy cvn d exch 2 copy known { 2 copy get 1 add put } { 1 put } ifelse /n n 1 add def } loop pop
0 1 30000 { dup dup dup 3 array astore pop 20 string cvs length n add /n exch def } for
d length = n = quit
"""

PHP = """<?php
$seen = []; $sum = 0;
foreach (file($argv[1]) as $line) foreach (explode(' ', trim($line)) as $word) {
  $seen[$word][] = strlen($line) + count($seen);
  $sum += strlen(strrev($word) . $word);
}
uasort($seen, fn($a, $b) => count($b) <=> count($a));
echo $sum, ' ', count($seen), ' ', md5(json_encode($seen)), "\\n";
"""

TCL = """set seen [dict create]
set file [open [lindex $argv 0]]
foreach line [split [read $file] "\\n"] { foreach word [split $line " "] {
  dict lappend seen $word [string length "$line$word"]
  set all($word) [lrange [list $word {*}[split $word ""]] 0 5] } }
puts "[dict size $seen] [array size all] [llength [lsort [dict keys $seen]]]"
"""

RUBY = """seen = Hash.new { |h, k| h[k] = [] }
File.foreach(ARGV[0]) { |line| line.split.each { |w| seen[w] << w.reverse + line.length.to_s } }
puts seen.size, seen.values.map(&:size).max, seen.sort_by { |k, v| [-v.size, k] }.first(3).inspect
"""

PYTHON = """import collections, json, re, sys
seen = collections.defaultdict(list)
for line in open(sys.argv[1]):
    for word in re.findall(r"[a-z]+", line):
        seen[word].append({"at": len(line), "word": word[::-1]})
print(len(json.dumps(seen)), len(sorted(seen, key=lambda w: (-len(seen[w]), w))))
"""

NODE = """const seen = new Map();
for (const line of require('fs').readFileSync(process.argv[2], 'utf8').split('\\n')) for (const word of line.split(' ')) {
  if (!seen.has(word)) seen.set(word, []);
  seen.get(word).push({at: line.length, word: word + seen.size});
}
console.log(seen.size, JSON.stringify([...seen]).length);
"""

RACKET = """(module r '#%kernel
  (define-values (seen) (make-hash))
  (define-values (loop) (lambda (in) (let-values ([(line) (read-line in)])
    (if (eof-object? line) (void) (begin (hash-set! seen line (cons (string-length line) (hash-ref seen line null))) (loop in))))))
  (loop (open-input-file (vector-ref (current-command-line-arguments) 0)))
  (display (hash-count seen)))
"""

GUILE = """(use-modules (ice-9 rdelim))
(define seen (make-hash-table))
(let ((in (open-input-file (cadr (command-line)))))
  (let loop ((line (read-line in)))
    (unless (eof-object? line)
      (for-each (lambda (w) (hash-set! seen w (cons (string-append w line) (hash-ref seen w '())))) (string-split line #\\space))
      (loop (read-line in)))))
(display (hash-count (const #t) seen))
"""

def changed(seed, lines):
    """Two texts, of which the second has a fifth of other lines."""
    chosen, text = pick(seed, "diff"), inputs.text(seed, lines * 9, 9).splitlines(keepends=True)
    other = [line if chosen.random() < 0.8 else "".join(chosen.sample(line, len(line))).strip() + "\n" for line in text]
    return "".join(text), "".join(other)
