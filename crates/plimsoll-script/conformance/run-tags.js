/* { "does": "tags of the run are on every sample", "settings": {"tags": {"branch": "main"}}, "tags": {"checks": [{"branch": "main"}]} } */
import { check } from 'k6';
export default function () {
  check(1, { a: true });
}
