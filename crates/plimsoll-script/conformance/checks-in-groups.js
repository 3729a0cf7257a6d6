/* { "does": "checks of the same name in different groups are counted apart", "checks": {"ok": [2, 1]},
     "tags": {"checks": [{"group": "::a", "check": "ok"}, {"group": "::a::b", "check": "ok"}, {"group": "", "check": "ok"}]} } */
import { check, group } from 'k6';
export default function () {
  group('a', () => {
    check(1, { ok: (n) => n === 1 });
    group('b', () => check(2, { ok: (n) => n === 1 }));
  });
  check(1, { ok: true });
}
