/* { "does": "NTLM is not there yet: it says so and ends the test", "k6": "k6 has it", "missing": "auth \"ntlm\" is not there yet", "console": [], "exit": 107 } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/get', { auth: 'ntlm' });
  console.log('went on');
}
