/* { "does": "extensions say what to do", "load_error": "extensions of k6", "exit": 107 } */
import sql from 'k6/x/sql';
export default function () {
  return;
}
