/* { "does": "checks carry their name, the group and extra tags",
     "tags": {"checks": [{"check": "in", "group": "::g", "extra": "1", "scenario": "default"},
                         {"check": "out", "group": "", "extra": null}]} } */
import { check, group } from 'k6';
export default function () {
  group('g', () => check(1, { in: true }, { extra: 1 }));
  check(1, { out: true });
}
