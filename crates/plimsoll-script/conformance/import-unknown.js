/* { "does": "an unknown module of k6 lists the known ones", "load_error": "there is no such module", "exit": 107 } */
import x from 'k6/nope';
export default function () {
  return;
}
