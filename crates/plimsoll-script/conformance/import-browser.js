/* { "does": "the browser module says what to do", "k6": "k6 has the module", "load_error": "browsers are not driven here", "exit": 107 } */
import { browser } from 'k6/browser';
export default function () {
  return;
}
