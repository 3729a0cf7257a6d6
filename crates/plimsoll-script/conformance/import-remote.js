/* { "does": "imports from the network say what to do", "load_error": "imports from the network are not fetched", "exit": 107 } */
import x from 'https://example.test/x.js';
export default function () {
  return;
}
