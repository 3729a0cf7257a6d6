/* { "does": "requests do not work in the init code", "load_error": "init code", "exit": 107 } */
import http from 'k6/http';
http.get('http://h.test/');
export default function () {
  return;
}
