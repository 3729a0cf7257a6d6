//! The style sheet and the one small script; both the same in every report.

use crate::colour::{VARIANTS, properties};

/// Colours of both grounds, then everything else.
pub(super) fn sheet() -> String {
    let [light, dark] = properties();
    format!(
        ":root{{{light}color-scheme:light dark}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}@media print{{:root{{{light}color-scheme:light}}}}{RULES}{}",
        variants()
    )
}

/// Of each variant's colour: thick and thin line, dot.
fn variants() -> String {
    let mut rules = String::new();
    for (index, token) in VARIANTS.iter().enumerate() {
        let name = token.name;
        put!(
            rules,
            "svg .l{index}{{stroke:var(--{name});stroke-width:2.4;stroke-linejoin:round}}svg .t{index}{{stroke:var(--{name});stroke-width:1.2;stroke-dasharray:4 3}}svg .f{index}{{fill:var(--{name})}}"
        );
    }
    rules
}

const RULES: &str = "\
*{box-sizing:border-box}\
html{-webkit-text-size-adjust:100%}\
body{margin:0;background:var(--bg);color:var(--ink);font:400 15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Helvetica Neue',Arial,sans-serif}\
header,main,footer{max-width:1128px;margin:0 auto;padding:0 24px}\
header{padding-top:18px;display:flex;flex-wrap:wrap;gap:2px 18px;color:var(--ink2);font-size:13px}\
header span,h1,h2,h3,p,li,td,th,dd{overflow-wrap:anywhere}\
h1,.h1{font-size:34px;line-height:1.18;font-weight:650;letter-spacing:-.012em;margin:26px 0 12px;max-width:32em}\
h1.long,.h1.long{font-size:26px}h1.longest,.h1.longest{font-size:21px}\
h2{font-size:20px;line-height:1.3;font-weight:650;margin:0 0 4px}\
h3{font-size:15px;font-weight:650;margin:0 0 4px}\
p{margin:0 0 8px;max-width:52em}\
.lede{font-size:18px;color:var(--ink2);max-width:44em}\
.t{color:var(--ink2)}\
.s{font-size:13px;color:var(--ink3)}\
section{margin-top:46px}\
article+article{margin-top:72px;border-top:2px solid var(--ink);padding-top:8px}\
.chips{list-style:none;margin:12px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:6px}\
.chips li{border:1px solid var(--rule);border-radius:3px;padding:2px 9px;font-size:13px;color:var(--ink2)}\
.chips b,b{font-weight:600;color:var(--ink)}\
.pass,.warn,.fail,.off{font-weight:600}.pass{color:var(--pass)}.warn{color:var(--warn)}.fail{color:var(--fail)}.off{color:var(--ink3)}\
.note{border-left:3px solid var(--warn);padding:4px 12px;margin:12px 0 0;background:var(--panel);max-width:52em}\
.key{display:grid;grid-template-columns:repeat(5,1fr);margin:20px 0 0;border-top:2px solid var(--ink);border-bottom:1px solid var(--rule)}\
.key div{padding:9px 12px 11px 14px;border-left:1px solid var(--rule)}\
.key div:first-child{border-left:0;padding-left:0}\
.key dt{font-size:13px;color:var(--ink2);display:flex;gap:6px;align-items:center}\
.key dd{margin:0;font-size:13px;color:var(--ink3);line-height:1.4}\
.key .v{font-size:26px;line-height:1.25;font-weight:650;color:var(--ink)}\
.key .v i{font-style:normal;font-size:15px;font-weight:400;color:var(--ink2)}\
.key .v.w{font-size:18px;line-height:32px}\
.key .n{color:var(--ink2)}\
figure{margin:14px 0 0}\
figcaption{font-size:13px;color:var(--ink3);margin-top:6px;max-width:60em}\
svg{display:block;overflow:visible}svg.wide{width:100%;height:auto}svg.nar{display:none;width:100%;height:auto}svg.small{width:100%;height:auto}svg.in{display:inline-block;vertical-align:middle}\
svg text{font-size:12.5px;fill:var(--ink2);font-variant-numeric:tabular-nums}svg .c{text-anchor:middle}svg .e{text-anchor:end}svg .b{font-weight:600;fill:var(--ink)}svg .m{fill:var(--ink3)}svg .f{fill:var(--fail)}svg .halo{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}\
svg path,svg circle{fill:none;stroke:none}\
svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--ink3)}svg .rule{stroke:var(--rule)}\
svg .band{fill:var(--band);stroke:none}svg .soak{fill:var(--panel)}svg .void{fill:url(#p-void)}\
svg .tint{fill:var(--good);fill-opacity:.16}svg .gap{fill:var(--late);fill-opacity:.35}svg .failed{fill:url(#p-void)}\
svg .good{stroke:var(--good);stroke-width:2.2;stroke-linejoin:round}svg .dgood{fill:var(--good);stroke:var(--bg);stroke-width:1.5}svg .wgood{stroke:var(--good);stroke-width:1.5}\
svg .p99{stroke:var(--ink);stroke-width:2;stroke-linejoin:round}svg .d99{fill:var(--ink);stroke:var(--bg);stroke-width:1.5}svg .w99{stroke:var(--ink);stroke-width:1.3}\
svg .p50{stroke:var(--ink2);stroke-width:1.4;stroke-linejoin:round}svg .d50{fill:var(--ink2);stroke:var(--bg);stroke-width:1}\
svg .ans{stroke:var(--ink3);stroke-width:1;stroke-dasharray:1.5 3}svg .dans{fill:var(--bg);stroke:var(--ink3)}\
svg .svc{stroke:var(--good);stroke-width:1.8;stroke-dasharray:5 3}\
svg .slo{stroke:var(--fail);stroke-width:1.4;stroke-dasharray:6 3}svg .cap{stroke:var(--ink);stroke-width:1.8}svg .knee{stroke:var(--ink2);stroke-dasharray:3 3}svg .all{stroke:var(--ink3);stroke-dasharray:1 3}\
svg .dvoid{fill:var(--bg);stroke:var(--ink2);stroke-width:1.3;stroke-dasharray:2 2}svg .sign{stroke:var(--ink);stroke-width:2;fill:var(--bg)}\
svg .dpass{fill:var(--pass)}svg .wpass{stroke:var(--pass);stroke-width:1.6}svg .dfail{stroke:var(--fail);stroke-width:2.4}svg .wfail{stroke:var(--fail);stroke-width:1.6}svg .dund{fill:var(--bg);stroke:var(--warn);stroke-width:2}svg .wund{stroke:var(--warn);stroke-width:1.6}\
svg .bar{fill:var(--ink2)}svg .bfull{fill:var(--fail)}svg .bwait{fill:url(#p-wait)}svg .bback{fill:var(--grid)}svg .open{fill:var(--bg);stroke:var(--ink);stroke-width:1.6}\
svg .hit{fill:transparent}svg .hit:hover{fill:var(--ink);fill-opacity:.05}\
.lg{list-style:none;margin:10px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:3px 18px;font-size:13px;color:var(--ink2)}.lg svg{margin-right:6px}\
.scroll{overflow-x:auto;margin-top:12px}\
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}\
th{font-weight:400;font-size:13px;color:var(--ink2);text-align:right;padding:3px 8px;border-bottom:1px solid var(--ink3);white-space:nowrap;vertical-align:bottom}\
td{padding:5px 8px;text-align:right;border-bottom:1px solid var(--grid);vertical-align:top;white-space:nowrap;overflow-wrap:normal}\
th.l,td.l{text-align:left}td.x{white-space:normal;min-width:16em;overflow-wrap:anywhere}\
table.sc td.x{min-width:9em}table.d{font-size:13px}table.d td,table.d th{padding-left:6px;padding-right:6px}table.d td:first-child{padding-left:0}tr.why td{padding-top:0;border-bottom-color:var(--rule);white-space:normal}tr:has(+tr.why) td{border-bottom:0;padding-bottom:1px}tr.void td{color:var(--ink3)}tr.line td{font-weight:650;background:var(--panel)}td.z{color:var(--ink3)}\
.two{display:grid;grid-template-columns:1fr 1fr;gap:12px 48px;align-items:start}\
.adv{list-style:none;margin:6px 0 0;padding:0;border-top:1px solid var(--ink3)}\
.adv li{display:grid;grid-template-columns:minmax(0,22em) minmax(0,1fr);gap:4px 24px;padding:9px 0;border-bottom:1px solid var(--grid)}.adv span{color:var(--ink2)}\
table.vt td,table.vt th{white-space:normal;min-width:9em}table.vt td:first-child,table.vt th:first-child{min-width:7em;padding-left:0}table.vt th b{color:var(--ink);font-size:14px;font-weight:650}\
details{border-bottom:1px solid var(--rule)}summary{padding:9px 0;font-weight:600;cursor:pointer}\
.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 20px;margin:0 0 12px;font-size:14px}.facts dt{color:var(--ink2)}.facts dd{margin:0;overflow-wrap:anywhere}\
.multi{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr));gap:20px 32px}.multi svg{max-width:440px}article header{padding-left:0;padding-right:0}\
code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}\
footer{margin-top:46px;padding-bottom:28px;font-size:13px;color:var(--ink3)}\
#tip{position:fixed;z-index:9;pointer-events:none;white-space:pre;background:var(--ink);color:var(--bg);font-size:13px;line-height:1.4;padding:5px 9px;border-radius:3px;display:none}\
@media (max-width:720px){header,main,footer{padding-left:16px;padding-right:16px}h1,.h1{font-size:26px}h1.long,.h1.long,h2.long{font-size:20px}h1.longest,.h1.longest,h2.longest{font-size:17px}.lede{font-size:16px}svg.wide{display:none}svg.nar{display:block}.key{grid-template-columns:1fr 1fr}.key div{padding-left:12px;border-top:1px solid var(--rule)}.key div:nth-child(odd){border-left:0;padding-left:0}.key div:first-child{grid-column:1/-1;border-top:0}.key div:nth-child(odd):not(:first-child){border-left:1px solid var(--rule);padding-left:12px}.key div:nth-child(even){border-left:0;padding-left:0}td svg.in{max-width:84px}.pl{display:none}.two,.adv li{grid-template-columns:minmax(0,1fr)}.facts{grid-template-columns:minmax(0,1fr)}.facts dt{margin-top:5px}}\
@page{margin:12mm}@media print{body{font-size:12px}header,main,footer{max-width:none;padding-left:10px;padding-right:10px}h1,.h1{font-size:24px;margin:14px 0 8px}h2{font-size:16px}.lede{font-size:14px;max-width:none}section{break-inside:auto;margin-top:26px}h1,h2,h3,h2+p,h3+p,h2+p+p,.lg,summary,thead{break-after:avoid}p,figure,tr,.key,.note,.multi>*,.adv li,.facts dd{break-inside:avoid}figure:has(.multi){break-inside:auto}.multi{grid-template-columns:1fr 1fr!important}svg.wide{display:block}svg.nar{display:none}.scroll{overflow:visible}th,td{white-space:normal;padding:3px 5px}th{overflow-wrap:normal}footer{margin-top:16px;padding-bottom:0}details::details-content{content-visibility:visible;display:block;height:auto}#tip{display:none!important}}";

/// Shows the read-outs at the pointer at once and unfolds everything for print; nothing depends on it.
pub(super) const SCRIPT: &str = "\
(function(){var d=document,t=d.createElement('div');t.id='tip';d.body.appendChild(t);\
d.addEventListener('pointermove',function(e){var h=e.target.closest&&e.target.closest('.hit');if(!h){t.style.display='none';return}\
var c=h.querySelector('title');if(c){h.tip=c.textContent;h.removeChild(c);h.setAttribute('aria-label',h.tip)}\
t.textContent=h.tip;t.style.display='block';var r=t.getBoundingClientRect();\
t.style.left=Math.max(4,Math.min(e.clientX+14,innerWidth-r.width-8))+'px';t.style.top=Math.max(4,Math.min(e.clientY+16,innerHeight-r.height-8))+'px'});\
addEventListener('beforeprint',function(){d.querySelectorAll('details').forEach(function(x){x.open=true})})})();";

#[cfg(test)]
mod tests {
    #[test]
    fn every_brace_of_the_sheet_is_closed_once() {
        // One too many would end with the rule that follows it, unseen.
        let mut depth = 0_u32;
        for letter in super::sheet().chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth = depth.checked_sub(1).expect("closed before it was opened"),
                _ => {}
            }
        }
        assert_eq!(depth, 0);
    }
}
