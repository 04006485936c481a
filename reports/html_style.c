/* html_style.c: light or dark as the reader's system is, narrow screens, paper. */
#include "html_style.h"

#include "figure.h"

static const char *const rules[] = {
    ":root{--ground:#ffffff;--ink:#1f2328;--quiet:#59636e;--line:#d8dee4;--soft:#f6f8fa;--accent:#0969da;--good:#"
    "1a7f37;"
    "--bad:#bc4c00;--bar:#ddf4ff}\n",
    "@media (prefers-color-scheme:dark){:root{--ground:#0d1117;--ink:#e6edf3;--quiet:#9198a1;--line:#30363d;"
    "--soft:#151b23;--accent:#58a6ff;--good:#3fb950;--bad:#f0883e;--bar:#12314f}}\n",
    "body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',"
    "sans-serif}\n",
    "main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}\n",
    "h1{font-size:24px;font-weight:600;margin:0 0 16px}\n",
    "h2{font-size:18px;font-weight:600;margin:36px 0 10px;padding-top:10px;border-top:1px solid var(--line)}\n",
    "h3{font-size:16px;font-weight:600;margin:26px 0 8px}\n",
    "p{margin:6px 0;max-width:90ch;overflow-wrap:anywhere}\n",
    ".lead{font-size:18px;line-height:1.45;background:var(--soft);border-left:4px solid var(--accent);"
    "padding:12px 16px;margin:12px 0;max-width:none}\n",
    ".note{font-size:13px;color:var(--quiet);margin-bottom:12px}\n",
    ".good{color:var(--good)}.bad{color:var(--bad);font-weight:600}.muted{color:var(--quiet)}\n",
    "nav{margin:18px 0 0;font-size:14px}nav a{display:inline-block;margin:0 14px 4px 0}\n",
    "a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}\n",
    ".link{margin:0}\n",
    ".scroll{overflow-x:auto;margin:10px 0}\n",
    "table{border-collapse:collapse;font-size:13.5px}\n",
    "th{text-align:left;font-weight:600;color:var(--quiet);border-bottom:1px solid var(--line);white-space:nowrap}\n",
    "th,td{padding:4px 14px 4px 0;vertical-align:top}td{border-bottom:1px solid var(--line);white-space:nowrap}\n",
    "td.prose{white-space:normal;overflow-wrap:anywhere;min-width:16ch}\n",
    "tbody tr:last-child td{border-bottom:0}tbody tr:hover td{background-color:var(--soft)}\n",
    ".n{text-align:right}td.n{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:12.5px;"
    "white-space:pre}\n",
    ".bar{background:linear-gradient(to right,var(--bar) var(--w,0%),transparent 0);min-width:120px}\n",
    "pre{background:var(--soft);padding:8px 12px;margin:6px 0;overflow-x:auto;font-size:13px}\n",
    "figure{margin:16px 0;max-width:800px}figure svg{display:block;width:100%;height:auto}figure svg "
    "[font-family]{font-family:inherit}\n",
    "figcaption{font-size:12px}figcaption a{margin-right:10px}\n",
    "@media print{:root{--ground:#ffffff;--ink:#000000;--quiet:#444444;--line:#bbbbbb;--soft:#f4f4f4;--accent:#000000;"
    "--good:#116329;--bad:#953800;--bar:#dddddd}nav,figcaption{display:none}main{max-width:none;padding:0}"
    "figure,tr,pre,.lead{break-inside:avoid}h2,h3{break-after:avoid}.scroll{overflow:visible}body{font-size:11pt}}\n",
};

/* The figures' neutral colours become the page's. gnuplot writes a line's with padding and a text's without. */
static void replace_colour(gopt_text *out, const char *colour, const char *by)
{
    long rgb = gopt_figure_rgb(colour), r = rgb >> 16, g = rgb >> 8 & 255, b = rgb & 255;
    gopt_text_add(out,
                  "figure svg [stroke=\"rgb(%3ld, %3ld, %3ld)\"]{stroke:var(%s)}"
                  "figure svg [fill=\"rgb(%ld,%ld,%ld)\"]{fill:var(%s)}\n",
                  r, g, b, by, r, g, b, by);
}

void gopt_html_style(gopt_text *out)
{
    gopt_text_put(out, "<style>\n");
    for (int i = 0; i < GOPT_COUNT(rules); i++)
        gopt_text_put(out, rules[i]);
    replace_colour(out, GOPT_FIGURE_INK, "--ink");
    replace_colour(out, GOPT_FIGURE_QUIET, "--quiet");
    replace_colour(out, GOPT_FIGURE_GRID, "--line");
    gopt_text_add(out, "figure svg rect[fill=\"%s\"]{fill:none}\n", GOPT_FIGURE_GROUND);
    gopt_text_put(out, "</style>\n");
}
